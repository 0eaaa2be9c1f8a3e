// SPDX-License-Identifier: GPL-3.0-or-later
// Zoom, search and the keyboard for a flame graph that is there already. flame_svg.h says what it
// is made of.
//
//	click, Enter, Space	zoom in on a frame: it and those below it become as wide as the graph
//	Esc			the whole again; in the search: forget it
//	arrows, Home		to the frames beside, above (the widest) and below; to the whole
//	/, Ctrl-F		search (in a report: while a frame has the focus)
//
// One frame at a time can be reached by Tab, so that nobody has to go through thousands of them.
"use strict";

function flameGraph(svg) {
	const XHTML = "http://www.w3.org/1999/xhtml", SVG = "http://www.w3.org/2000/svg";
	const LETTER = 7, MARGIN = 3, UNIT = 10000;
	const alone = svg === document.documentElement;
	const height = svg.viewBox.baseVal.height;
	const units = (rect, name) => Math.round(rect.getAttribute(name) * UNIT);
	const frames = Array.from(svg.querySelectorAll("g"), (g) => {
		const rect = g.querySelector("rect"), title = g.querySelector("title").textContent;
		const begin = units(rect, "x"), width = units(rect, "width");

		return { g, rect, title, name: title.replace(/ \(\d+ bytes [^()]*\)$/, ""),
			text: g.querySelector("text"), begin, width, end: begin + width,
			y: Number(rect.getAttribute("y")), shown: true };
	});
	const whole = frames[0];
	const frameOf = new Map(frames.map((frame) => [frame.g, frame]));
	let zoomed = whole, current = whole;

	const make = (name, parent, properties) =>
		Object.assign(parent.appendChild(document.createElementNS(XHTML, name)), properties);
	const holder = alone ? document.createElementNS(SVG, "foreignObject") :
		document.createElementNS(XHTML, "div");
	const bar = make("div", holder, { className: "flame-bar" });
	const search = make("input", bar, { type: "search", placeholder: "Search ( / )" });
	const reset = make("button", bar, { type: "button", textContent: "Whole (Esc)" });
	const matched = make("output", bar, { className: "flame-matched" });
	const details = make("div", bar, { className: "flame-details", textContent: whole.title });
	search.setAttribute("aria-label", "Search the graph");

	function label(frame, x, width) {
		const letters = Math.floor(width / LETTER) - 1;

		if (!frame.text && letters >= 3) {
			frame.text = document.createElementNS(SVG, "text");
			frame.text.setAttribute("y", frame.y + 13);
			frame.g.append(frame.text);
		}
		if (!frame.text)
			return;
		frame.text.textContent = letters < 3 ? "" : frame.name.length <= letters ? frame.name :
			frame.name.slice(0, letters - 1) + "\u2026";
		frame.text.setAttribute("x", x + MARGIN);
	}

	function place(frame, full) {
		const below = frame.y > zoomed.y && frame.begin <= zoomed.begin && frame.end >= zoomed.end;
		const above = frame.y <= zoomed.y && frame.begin >= zoomed.begin && frame.end <= zoomed.end;
		const scale = full / zoomed.width;
		const x = below ? 0 : (frame.begin - zoomed.begin) * scale;
		const width = below ? full : frame.width * scale;

		frame.shown = below || (above && width >= 0.2);
		if (!frame.shown) {
			frame.g.setAttribute("display", "none");
			return;
		}
		frame.g.removeAttribute("display");
		frame.g.classList.toggle("below", below);
		frame.rect.setAttribute("x", x);
		frame.rect.setAttribute("width", width);
		label(frame, x, width);
	}

	function draw() {
		const full = Math.max(280, alone ? window.innerWidth : svg.parentNode.clientWidth);

		svg.setAttribute("width", full);
		svg.setAttribute("viewBox", `0 0 ${full} ${height}`);
		if (alone)
			holder.setAttribute("width", full - 2 * MARGIN);
		frames.forEach((frame) => place(frame, full));
	}

	// What frames above each other share is counted once.
	function find() {
		const text = search.value.toLowerCase();
		let nr = 0, sum = 0, end = 0;
		const found = frames.filter((frame) => {
			const is = text !== "" && frame !== whole && frame.name.toLowerCase().includes(text);

			frame.g.classList.toggle("match", is);
			return is;
		});

		found.sort((a, b) => a.begin - b.begin || b.end - a.end).forEach((frame) => {
			nr++;
			sum += Math.max(0, frame.end - Math.max(end, frame.begin));
			end = Math.max(end, frame.end);
		});
		matched.textContent = text === "" ? "" :
			`${nr} frames, ${(100 * sum / whole.width).toFixed(2)} % of the whole`;
	}

	function focus(frame) {
		current.g.setAttribute("tabindex", "-1");
		current = frame;
		frame.g.setAttribute("tabindex", "0");
		frame.g.focus();
	}

	function describe(frame) {
		details.textContent = frame.title;
	}

	function zoom(frame) {
		zoomed = frame;
		draw();
		describe(frame);
	}

	const within = (inner, outer) => inner.begin >= outer.begin && inner.end <= outer.end;

	function nextTo(frame, key) {
		const shown = frames.filter((other) => other.shown);
		const row = shown.filter((other) => other.y === frame.y).sort((a, b) => a.begin - b.begin);
		const at = row.indexOf(frame);
		const rows = shown.map((other) => other.y);

		switch (key) {
		case "ArrowLeft": return row[at - 1];
		case "ArrowRight": return row[at + 1];
		case "ArrowDown": {
			const below = Math.min(...rows.filter((y) => y > frame.y));

			return shown.find((other) => other.y === below && within(frame, other));
		}
		case "ArrowUp": {
			const above = Math.max(...rows.filter((y) => y < frame.y));

			return shown.filter((other) => other.y === above && within(other, frame))
				.sort((a, b) => b.width - a.width)[0];
		}
		case "Home": return whole;
		}
		return undefined;
	}

	function onKey(event) {
		const frame = frameOf.get(event.target), next = frame && nextTo(frame, event.key);

		if (event.target !== search && (event.key === "/" || (event.key === "f" && event.ctrlKey)))
			search.focus();
		else if (event.key === "Escape" && event.target === search && search.value !== "") {
			search.value = "";
			find();
		} else if (event.key === "Escape")
			zoom(whole);
		else if (frame && (event.key === "Enter" || event.key === " "))
			zoom(frame);
		else if (next)
			focus(next);
		else
			return;
		event.preventDefault();
	}

	function onFrame(event, act) {
		const g = event.target.closest("g");

		if (g)
			act(frameOf.get(g));
	}

	frames.forEach((frame) => {
		frame.g.setAttribute("tabindex", frame === whole ? "0" : "-1");
		frame.g.setAttribute("role", "button");
	});
	svg.setAttribute("role", "group");
	svg.setAttribute("aria-label", "Flame graph");
	if (alone) {
		holder.setAttribute("x", MARGIN);
		holder.setAttribute("y", 40);
		holder.setAttribute("height", 50);
		svg.append(holder);
	} else {
		svg.parentNode.before(holder);
	}
	svg.addEventListener("click", (event) => onFrame(event, (frame) => {
		focus(frame);
		zoom(frame);
	}));
	svg.addEventListener("mouseover", (event) => onFrame(event, describe));
	// An element of SVG that listens for the focus could be reached by Tab itself.
	(alone ? document : svg.parentNode).addEventListener("focusin", (event) => onFrame(event, describe));
	(alone ? document : svg).addEventListener("keydown", onKey);
	if (!alone)
		holder.addEventListener("keydown", onKey);
	search.addEventListener("input", find);
	reset.addEventListener("click", () => zoom(whole));
	window.addEventListener("resize", draw);
	draw();
}
