// SPDX-License-Identifier: GPL-3.0-or-later
// node heapsnapshot.js FILE: what each child of "(GC roots)" retains, by cutting it out, as lines "BYTES COUNT NAME".
// Pointers count as for Chrome's DevTools: all but weak ones.
const file = JSON.parse(require("fs").readFileSync(process.argv[2], "utf8"));
const { meta, node_count, edge_count } = file.snapshot;
const width = meta.node_fields.length, nodes = file.nodes, edges = file.edges;
const field = Object.fromEntries(meta.node_fields.map((name, i) => [name, i]));
const fail = (why) => { console.log("bad " + why); process.exit(1); };
if (nodes.length !== node_count * width) fail("node_count");
if (edges.length !== edge_count * 3) fail("edge_count");
const kinds = meta.edge_types[0], first = [0], of = (i, name) => nodes[i * width + field[name]];
const name = (i) => file.strings[of(i, "name")];
for (let i = 0; i < node_count; i++) {
	if (!(of(i, "name") < file.strings.length)) fail("name of node " + i);
	if (nodes.slice(i * width, (i + 1) * width).some((x) => !Number.isInteger(x) || x < 0 || x > 0xffffffff)) fail("node " + i);
	first.push(first[i] + of(i, "edge_count"));
}
if (first[node_count] !== edge_count) fail("edges of nodes");
const ids = new Set();
for (let i = 0; i < node_count; i++) ids.add(of(i, "id"));
if (ids.size !== node_count) fail("ids");
function sum(cut) {
	const seen = new Uint8Array(node_count), queue = [0];
	let bytes = 0, count = 0;
	seen[0] = 1;
	if (cut !== undefined) seen[cut] = 1;
	for (let at; (at = queue.pop()) !== undefined;) {
		bytes += of(at, "self_size");
		count += meta.node_types[0][of(at, "type")] === "object";
		for (let e = first[at]; e < first[at + 1]; e++) {
			if (edges[3 * e + 2] % width) fail("edge " + e);
			const to = edges[3 * e + 2] / width, kind = kinds[edges[3 * e]];
			if (kind === "weak" ? !(edges[3 * e + 1] < file.strings.length) : kind !== "element") fail("edge " + e);
			if (kind !== "weak" && !seen[to]) { seen[to] = 1; queue.push(to); }
		}
	}
	return [bytes, count];
}
const all = sum(), roots = edges[2] / width;
if (name(roots) !== "(GC roots)") fail("no (GC roots)");
console.log(`${all[0]} ${all[1]} all`);
for (let e = first[roots]; e < first[roots + 1]; e++) {
	const group = edges[3 * e + 2] / width, left = sum(group);
	console.log(`${all[0] - left[0]} ${all[1] - left[1]} ${name(group)}`);
}
