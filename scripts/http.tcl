# SPDX-License-Identifier: GPL-3.0-or-later
# A server of HTTP/1.1 in Tcl's event loop, for serve.tcl. It is no script of its own. Who sources it
# has sourced service.tcl, and defines
#
#	answer CHAN PATH QUERY	gives an answer (give, give_error), or enters the stage `wait` first
#	gone CHAN		the connection ends: what the stage `wait` has left goes
#
# A connection goes through these stages, by Tcl's event loop. None of them waits for a client:
#
#	head	the request is read, at most so many bytes and seconds
#	wait	its answer is due later
#	send	the answer is written, a chunk whenever there is room for one
#	drain	what the client sends on is read and thrown away, shortly: a socket that is closed
#		with unread data would take the answer with it
#
# Tcl can not throw away what it was given to send (fleet.tcl). But where the kernel says that a
# socket has room, it takes CHUNK bytes at once, so nothing stays with Tcl.
#
# If there are too many connections, the one that has waited longest for its client goes.

set chunk 4096			;# bytes
set most_head 8192
set most_line 2048
set most_connections 64
set head_ms 10000		;# from the connection to the end of the head
set send_ms 120000		;# for the whole answer
set drain_ms 2000
set most_drained [expr {256 << 10}]

# The arrays of connections, by channel: stage; since, when it began (ms); head, what was read or is
# written before the body; body and at, what is written and from where; bare, without a body (HEAD);
# alarm, the end of the stage.

proc is_loopback {host} {
	return [expr {[string tolower $host] in {localhost ::1} ||
		[regexp {^127(\.\d{1,3}){3}$} $host]}]
}

# Sets ::served, as it is said, and ::guarded: only a loopback's names are served.
proc listen_at {address} {
	global guarded served

	set guarded 0
	if {[string match */* $address]} {
		if {[catch {mdbg::listen $address begin} why]} {
			refuse $why "a name in a folder of your own, that nobody else may write to"
		}
		set served "the socket $address"
		return
	}
	if {![regexp {^((\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)?:)?(\d{1,5})$} $address -> - host port] ||
	    [scan $port %d] > 65535} {
		refuse "'$address' is no address"
	}
	set port [scan $port %d]
	set host [expr {$host eq "" ? "127.0.0.1" : [string trim $host {[]}]}]
	set guarded [is_loopback $host]
	if {[catch {socket -server begin_tcp -myaddr $host $port} chan]} {
		refuse "$address: $chan" "another PORT; 0 is any that is free"
	}
	set port [lindex [chan configure $chan -sockname] 2]
	set served http://[expr {[string match *:* $host] ? "\[$host\]" : $host}]:$port/
	if {!$guarded} {
		say "whoever reaches $served reads all that is served"
	}
}

proc begin_tcp {chan address port} {
	begin $chan
}

proc begin {chan} {
	global stage head

	make_room
	if {[array size stage] >= $::most_connections} {
		catch {close $chan}
		return
	}
	chan configure $chan -blocking 0 -translation binary -buffering none -buffersize 4096
	set head($chan) ""
	set ::bare($chan) 0
	enter $chan head $::head_ms
	chan event $chan readable [list take_bytes $chan]
}

proc enter {chan new ms} {
	global stage since alarm

	if {[info exists alarm($chan)]} {
		after cancel $alarm($chan)
	}
	set stage($chan) $new
	set since($chan) [clock milliseconds]
	set alarm($chan) [after $ms [list finish $chan]]
}

proc finish {chan} {
	if {[info exists ::alarm($chan)]} {
		after cancel $::alarm($chan)
	}
	gone $chan
	foreach name {stage since head body at bare alarm} {
		unset -nocomplain ::${name}($chan)
	}
	catch {close $chan}
}

# The one that has been longest in a stage in which the client is to do something.
proc make_room {} {
	global stage since

	if {[array size stage] < $::most_connections} {
		return
	}
	set oldest ""
	foreach {chan what} [array get stage] {
		set rank [list [expr {$what in {head drain} ? 0 : 1}] $since($chan)]
		if {$what ne "wait" && ($oldest eq "" || [lindex $rank 0] < [lindex $least 0] ||
		    [lindex $rank 0] == [lindex $least 0] && [lindex $rank 1] < [lindex $least 1])} {
			set oldest $chan
			set least $rank
		}
	}
	if {$oldest ne ""} {
		finish $oldest
	}
}

proc take_bytes {chan} {
	global stage head at

	if {[catch {read $chan $::chunk} bytes] || ($bytes eq "" && [chan eof $chan])} {
		finish $chan
	} elseif {$stage($chan) eq "head"} {
		append head($chan) $bytes
		take_head $chan
	} elseif {$stage($chan) eq "wait" && $bytes ne "" ||
		  $stage($chan) eq "drain" && [incr at($chan) [string length $bytes]] > $::most_drained} {
		finish $chan
	}
}

proc take_head {chan} {
	global head

	set text $head($chan)
	set end [string first \n $text]
	if {$end > $::most_line || ($end < 0 && [string length $text] > $::most_line)} {
		give_error $chan "414 URI Too Long" "the first line is too long"
	} elseif {[regexp -indices {\r?\n\r?\n} $text rest] && [lindex $rest 0] <= $::most_head} {
		set head($chan) ""
		take_request $chan [split [string map {\r ""} [string range $text 0 [lindex $rest 0]]] \n]
	} elseif {[string length $text] > $::most_head} {
		give_error $chan "431 Request Header Fields Too Large" "the head has too many bytes"
	}
}

# The fields of a head that matter here, each at most once; an error says what is wrong.
proc take_fields {lines} {
	set fields [dict create]
	foreach line $lines {
		if {$line eq ""} {
			continue
		}
		# One expression for all of the line would take the square of its length, a second here.
		if {![regexp {^([!#$%&'*+.^_`|~0-9A-Za-z-]+):} $line -> name]} {
			error "a header line is no header"
		}
		set value [string trim [string range $line [string length $name]+1 end] " \t"]
		set name [string tolower $name]
		if {$name eq "host" && [dict exists $fields host]} {
			error "Host is there twice"
		}
		dict set fields $name $value
	}
	return $fields
}

# A page of somebody else's, in a browser on this machine, can have a request sent: by a name of its
# own that leads here (DNS rebinding), or as a picture. Neither reads anything, or stops the process.
proc is_foreign {fields} {
	set host [expr {[dict exists $fields host] ? [dict get $fields host] : ""}]
	if {$::guarded && $host ne ""} {
		if {![regexp {^(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(:\d{1,5})?$} $host -> name] ||
		    ![is_loopback [string trim $name {[]}]]} {
			return 1
		}
	}
	return [expr {[dict exists $fields sec-fetch-site] &&
		[dict get $fields sec-fetch-site] in {cross-site same-site}}]
}

proc take_request {chan lines} {
	set lines [lassign $lines line]
	if {![regexp {^([A-Z]{1,16}) (\S+) HTTP/1\.([01])$} $line -> method target minor]} {
		give_error $chan "400 Bad Request" "the first line is no request of HTTP/1.1"
		return
	}
	set ::bare($chan) [expr {$method eq "HEAD"}]
	if {[catch {take_fields $lines} fields]} {
		give_error $chan "400 Bad Request" $fields
	} elseif {$minor && ![dict exists $fields host]} {
		give_error $chan "400 Bad Request" "Host is missing"
	} elseif {[is_foreign $fields]} {
		give_error $chan "403 Forbidden" "this is served to names of this machine's loopback alone"
	} elseif {$method ni {GET HEAD}} {
		give_error $chan "405 Method Not Allowed" "only GET and HEAD" "Allow: GET, HEAD\r\n"
	} elseif {![regexp {^(?:http://[^/]*)?(/[^?#]*)(?:\?([^#]*))?$} $target -> path query]} {
		give_error $chan "400 Bad Request" "the target is no path"
	} else {
		answer $chan $path $query
	}
}

proc give {chan status type bytes {more ""}} {
	set head "HTTP/1.1 $status\r\nContent-Type: $type\r\nContent-Length: [string length $bytes]\r\n"
	append head "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n${more}Connection: close\r\n\r\n"
	set ::head($chan) $head
	set ::body($chan) [expr {$::bare($chan) ? "" : $bytes}]
	set ::at($chan) 0
	enter $chan send $::send_ms
	chan event $chan readable {}
	chan event $chan writable [list put_chunk $chan]
}

proc give_error {chan status why {more ""}} {
	give $chan $status "text/plain; charset=utf-8" [encoding convertto utf-8 [printable $why]\n] $more
}

proc put_chunk {chan} {
	global head body at

	set size [expr {min($::chunk, [string length $body($chan)] - $at($chan))}]
	if {[catch {
		if {$head($chan) ne ""} {
			puts -nonewline $chan $head($chan)
			set head($chan) ""
		} elseif {$size > 0} {
			puts -nonewline $chan [string range $body($chan) $at($chan) [expr {$at($chan) + $size - 1}]]
			incr at($chan) $size
		}
	}]} {
		finish $chan
	} elseif {$at($chan) == [string length $body($chan)]} {
		set body($chan) ""
		drain $chan
	}
}

# A Unix socket keeps what was sent; Tcl cannot close half of it.
proc drain {chan} {
	chan event $chan writable {}
	if {[catch {close $chan write}]} {
		finish $chan
		return
	}
	set ::at($chan) 0
	enter $chan drain $::drain_ms
	chan event $chan readable [list take_bytes $chan]
}
