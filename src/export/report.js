// SPDX-License-Identifier: GPL-3.0-or-later
// Tables and the chart of a report. report_data.c says what the data are. All that comes from them
// is set as text, never as markup.
"use strict";

(function () {
	const data = JSON.parse(document.getElementById("data").textContent);
	const PAGE = 100;
	const SVG = "http://www.w3.org/2000/svg";

	function make(name, parent, properties, ...children) {
		const element = document.createElement(name);

		Object.assign(element, properties);
		element.append(...children);
		if (parent)
			parent.append(element);
		return element;
	}

	function shape(name, parent, attributes) {
		const element = document.createElementNS(SVG, name);

		for (const key in attributes)
			element.setAttribute(key, attributes[key]);
		parent.append(element);
		return element;
	}

	const number = (value) => value === null ? "\u2013" : value.toLocaleString("en");
	const signed = (value) => (value > 0 ? "+" : "") + number(value);
	const percent = (value) => value === null ? "\u2013" : value.toFixed(2) + " %";
	const text = (nr) => data.strings[nr];

	function size(bytes) {
		const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
		let unit = 0;

		for (; bytes >= 1024 && unit < units.length - 1; unit++)
			bytes /= 1024;
		return `${unit ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
	}

	function age(seconds) {
		if (seconds === null)
			return "\u2013";
		if (seconds < 60)
			return `${seconds.toFixed(1)} s`;
		if (seconds < 3600)
			return `${Math.floor(seconds / 60)} m ${Math.floor(seconds % 60)} s`;
		return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} m`;
	}

	// The traceback of a site, innermost first as everywhere in mdbg.
	function stackOf(site) {
		const list = make("ol");
		const stack = site === null ? undefined : data.sites[site][8];

		if (!stack)
			return make("span", null, { textContent: site === null ? "The traceback is not in this report." :
				"The traceback is left out: the file would be too large." });
		for (const at of stack.slice().reverse()) {
			const frames = data.locations[at];

			for (let i = 0; i < frames.length; i += 3) {
				const item = make("li", list, { textContent: text(frames[i]) });

				if (frames[i + 2])
					make("span", item, { textContent: ` (${text(frames[i + 1])}:${frames[i + 2]})` });
			}
		}
		return list;
	}

	// rows have own, site and the columns' values; a column is { key, title, show, minor, colour }.
	// first: the column that they are sorted by at first; null: by none.
	function table(holder, columns, rows, what, first) {
		const tools = make("div", holder, { className: "tools" });
		const search = make("input", tools, { type: "search", placeholder: `Search ${what}` });
		const said = make("output", tools);
		const scroll = make("div", holder, { className: "scroll" });
		const sheet = make("table", scroll);
		const head = make("tr", make("thead", sheet));
		const body = make("tbody", sheet);
		const more = make("button", holder, { type: "button", className: "more" });
		let shown = PAGE, order = first, down = true, found = rows;

		search.setAttribute("aria-label", `Search ${what}`);
		said.setAttribute("aria-live", "polite");

		function toggle(row, line, button) {
			const open = button.getAttribute("aria-expanded") === "true";

			button.setAttribute("aria-expanded", String(!open));
			if (open) {
				line.nextSibling.remove();
				return;
			}
			const cell = make("td", null, { className: "stack", colSpan: columns.length + 1 });

			cell.append(stackOf(row.site));
			line.after(make("tr", null, { className: "stack" }, cell));
		}

		function addRow(row) {
			const line = make("tr", body);

			for (const column of columns) {
				const cell = make("td", line, { textContent: column.show(row[column.key]) });

				if (column.minor)
					cell.className = "minor";

				if (column.colour && row[column.key])
					cell.classList.add(row[column.key] > 0 ? "up" : "down");
			}
			const name = make("td", line, { className: "name" });
			const button = make("button", name, { type: "button", textContent: row.own });

			button.setAttribute("aria-expanded", "false");
			button.addEventListener("click", () => toggle(row, line, button));
		}

		function draw() {
			body.textContent = "";
			found.slice(0, shown).forEach(addRow);
			more.hidden = found.length <= shown;
			more.textContent = `Show ${Math.min(PAGE, found.length - shown)} more`;
			said.textContent = `${found.length} of ${rows.length} ${what}`;
			for (const cell of head.children)
				if (cell.dataset.key === order)
					cell.setAttribute("aria-sort", down ? "descending" : "ascending");
				else
					cell.removeAttribute("aria-sort");
		}

		// What is not known comes last, either way.
		function compare(a, b) {
			const x = order && a[order], y = order && b[order];

			if (x === y)
				return a.rank - b.rank;
			if (x === null || y === null)
				return x === null ? 1 : -1;
			return (x < y ? -1 : 1) * (down ? -1 : 1);
		}

		function update() {
			const wanted = search.value.toLowerCase();

			found = rows.filter((row) => !wanted || row.words().includes(wanted)).sort(compare);
			shown = PAGE;
			draw();
		}

		function addHead(column) {
			const cell = make("th", head, { scope: "col",
				className: column.key === "own" ? "name" : column.minor ? "minor" : "" });
			const button = make("button", cell, { type: "button", textContent: column.title });

			cell.dataset.key = column.key;
			button.addEventListener("click", () => {
				down = order === column.key ? !down : column.key !== "own";
				order = column.key;
				update();
			});
		}

		columns.concat([{ key: "own", title: "Allocated in" }]).forEach(addHead);
		search.addEventListener("input", update);
		more.addEventListener("click", () => {
			shown += PAGE;
			draw();
		});
		rows.forEach((row, rank) => { row.rank = rank; });
		update();
		return search;
	}

	// All the names of a row, in small letters, made when somebody searches.
	function wordsOf(own, site) {
		let words;

		return () => {
			if (words === undefined) {
				const stack = (site !== null && data.sites[site][8]) || [];

				words = stack.flatMap((at) => data.locations[at].filter((_, i) => i % 3 !== 2).map(text))
					.concat(own).join("\n").toLowerCase();
			}
			return words;
		};
	}

	function row(own, site, values) {
		return Object.assign(values, { own, site, words: wordsOf(own, site) });
	}

	function sites() {
		const holder = document.getElementById("site-table");
		const [nr, bytes] = data.more;
		const rows = data.sites.map((site, i) => row(text(site[7]), i, {
			bytes: site[0], share: data.bytes ? 100 * site[0] / data.bytes : null,
			blocks: site[1], growth: site[6], total: site[2],
			freed: site[2] ? 100 * site[3] / site[2] : null, oldest: site[4], median: site[5] }));
		const search = table(holder, [
			{ key: "bytes", title: "Bytes", show: number },
			{ key: "share", title: "Share", show: percent, minor: true },
			{ key: "blocks", title: "Blocks", show: number },
			{ key: "growth", title: "Growth", show: signed, colour: true },
			{ key: "total", title: "All time", show: number, minor: true },
			{ key: "freed", title: "Freed", show: percent, minor: true },
			{ key: "oldest", title: "Oldest", show: age, minor: true },
			{ key: "median", title: "Median age", show: age, minor: true }], rows, "sites", "bytes");

		if (nr)
			make("p", holder, { className: "rest",
				textContent: `${number(nr)} smaller sites with ${size(bytes)} have no row.` });
		document.addEventListener("keydown", (event) => {
			if (event.key !== "/" || event.defaultPrevented || event.target.tagName === "INPUT")
				return;
			event.preventDefault();
			search.focus();
		});
	}

	function leaks() {
		const holder = document.getElementById("leak-table");

		if (!holder || !data.leaks.length)
			return;
		table(holder, [
			{ key: "kind", title: "Kind", show: (kind) => kind },
			{ key: "bytes", title: "Bytes", show: number },
			{ key: "blocks", title: "Blocks", show: number },
			{ key: "indirect", title: "Lost with them", show: number, minor: true }],
			data.leaks.map((leak) => row(text(leak[4]), leak[5],
				{ kind: leak[0], bytes: leak[1], blocks: leak[2], indirect: leak[3] })),
			"loss records", null);
	}

	function differences() {
		const holder = document.getElementById("difference-tables");

		for (const difference of holder ? data.differences : []) {
			make("h3", holder, { textContent: difference.title });
			make("p", holder, { textContent: `Grown ${number(difference.grown)} bytes, ` +
				`shrunk ${number(difference.shrunk)} bytes. ${difference.note}` });
			if (difference.more)
				make("p", holder, { className: "rest",
					textContent: `${number(difference.more)} smaller changes have no row.` });
			if (difference.changes.length)
				table(make("div", holder), [
					{ key: "bytes", title: "Bytes", show: signed, colour: true },
					{ key: "blocks", title: "Blocks", show: signed }],
					difference.changes.map((change) => row(text(change[2]), change[3],
						{ bytes: change[0], blocks: change[1] })), "changes", null);
		}
	}

	function chart() {
		const holder = document.getElementById("chart");

		if (!holder)
			return;
		const samples = data.samples, first = samples[0][0], last = samples[samples.length - 1][0];
		const most = Math.max(1, ...samples.map((sample) => Math.max(sample[1], sample[3] || 0)));
		const x = (ms) => last > first ? 1000 * (ms - first) / (last - first) : 0;
		const y = (bytes) => 100 - 98 * bytes / most;
		const tools = make("div", holder, { className: "tools" });
		const box = make("div", holder, { className: "chart-box" });
		const graph = shape("svg", box, { class: "chart", viewBox: "0 0 1000 100",
			preserveAspectRatio: "none", tabindex: "0", role: "img",
			"aria-label": "Memory over time; arrow keys go from sample to sample" });
		const when = (ms) => new Date(ms).toLocaleString();
		const ends = make("div", holder, { className: "chart-ends" });

		make("span", tools, { className: "key held", textContent: "held" });
		make("span", tools, { className: "key rss", textContent: "resident (RSS)" });
		const said = make("output", tools);
		// A line begins anew behind a gap, and where the value is not known.
		const line = (at) => samples.map((sample, i) => {
			const anew = !i || sample[4] || samples[i - 1][at] === null;

			return sample[at] === null ? "" :
				`${anew ? "M" : "L"}${x(sample[0]).toFixed(2)} ${y(sample[at]).toFixed(2)}`;
		}).join("");

		for (const at of [2, 51, 100])
			shape("path", graph, { class: "grid", d: `M0 ${at}H1000` });
		for (const [name, ms] of data.marks) {
			const mark = shape("path", graph, { class: "mark", d: `M${x(ms)} 0V100` });

			shape("title", mark, {}).textContent = name;
		}
		shape("path", graph, { class: "rss", d: line(3) });
		shape("path", graph, { class: "held", d: line(1) });
		const cursor = shape("path", graph, { class: "cursor", d: "" });
		make("span", box, { className: "axis top", textContent: size(most) });
		make("span", box, { className: "axis middle", textContent: size(most / 2) });
		make("span", box, { className: "axis bottom", textContent: "0" });
		make("span", ends, { textContent: when(first) });
		make("span", ends, { textContent: when(last) });
		let at = samples.length - 1;

		function show(i) {
			const sample = samples[at = Math.max(0, Math.min(samples.length - 1, i))];

			cursor.setAttribute("d", `M${x(sample[0])} 0V100`);
			said.textContent = `${when(sample[0])}: ${size(sample[1])} in ${number(sample[2])} blocks` +
				(sample[3] === null ? "" : `, ${size(sample[3])} resident`);
		}

		graph.addEventListener("pointermove", (event) => {
			const place = graph.getBoundingClientRect();
			const ms = first + (last - first) * (event.clientX - place.left) / place.width;
			let nearest = 0;

			samples.forEach((sample, i) => {
				if (Math.abs(sample[0] - ms) < Math.abs(samples[nearest][0] - ms))
					nearest = i;
			});
			show(nearest);
		});
		graph.addEventListener("keydown", (event) => {
			const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];

			if (step) {
				event.preventDefault();
				show(at + step);
			}
		});
	}

	sites();
	leaks();
	differences();
	chart();
	document.querySelectorAll("svg.flame").forEach((flame) => {
		flameGraph(flame);
		flame.setAttribute("aria-label", flame.closest("section").querySelector("h2").textContent);
		flame.parentNode.scrollTop = flame.parentNode.scrollHeight;
	});
})();
