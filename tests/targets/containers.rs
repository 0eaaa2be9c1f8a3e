// SPDX-License-Identifier: GPL-3.0-or-later
//! Containers of Rust, in the frame of main. Commands: verify, quit.
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::{Rc, Weak};
use std::sync::Arc;

struct Point {
    x: i32,
    name: String,
}

fn main() {
    let mut map: HashMap<String, i32> = HashMap::new();
    map.insert("one".into(), 1);
    let mut many: HashMap<u32, u64> = HashMap::new();
    for i in 0..1000 {
        many.insert(i, i as u64 * 3);
    }
    for i in 3..1000 {
        many.remove(&i);
    }
    let empty: HashMap<u8, u8> = HashMap::new();
    let mut set: HashSet<u16> = HashSet::new();
    set.insert(7);
    let mut tree: BTreeMap<u8, u64> = BTreeMap::new();
    for i in 0..200 {
        tree.insert(((i * 73) % 251) as u8, i);
    }
    let mut names: BTreeMap<String, Point> = BTreeMap::new();
    names.insert("b".into(), Point { x: 2, name: "two".into() });
    names.insert("a".into(), Point { x: 1, name: "one".into() });
    let leafless: BTreeMap<u8, u8> = BTreeMap::new();
    let mut sorted: BTreeSet<i64> = BTreeSet::new();
    for i in 0..30 {
        sorted.insert(100 - i);
    }
    let rc = Rc::new(Point { x: 5, name: "rc".into() });
    let other = rc.clone();
    let weak: Weak<Point> = Rc::downgrade(&rc);
    let arc = Arc::new(42u64);
    let cell = Rc::new(RefCell::new(3));
    let vector = vec![1, 2, 3];
    let mut ring: VecDeque<u16> = VecDeque::with_capacity(4);
    ring.extend([1, 2, 3, 4]);
    ring.pop_front();
    ring.pop_front();
    ring.push_back(5);
    let ringless: VecDeque<String> = VecDeque::new();
    let nothings: VecDeque<()> = VecDeque::from([(), ()]);
    let text = String::from("text");
    let slice = "slice";
    let some: Option<i32> = Some(4);
    println!("ready {}", std::process::id());
    let mut line = String::new();
    loop {
        line.clear();
        if std::io::stdin().read_line(&mut line).unwrap() == 0 || line.starts_with("quit") {
            break;
        }
        println!("ok {}", other.x + weak.strong_count() as i32 + rc.name.len() as i32);
    }
    drop((map, many, empty, set, arc, cell, vector, ring, ringless, nothings, text, slice, some, tree.len(), names.len(), leafless.len(), sorted.len()));
}
