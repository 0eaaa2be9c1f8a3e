// SPDX-License-Identifier: GPL-3.0-or-later
//! The same as values.c of Rust, in the frame of main. Commands: verify, quit.
use std::hint::black_box;

struct Point {
    x: i32,
    y: f32,
}

struct Wrap(i64, Point);

union Either {
    i: i32,
    f: f32,
}

#[derive(Clone, Copy)]
enum Color {
    Red,
    Green = 5,
}

static GLOBAL: i32 = 77;
static mut COUNTER: u64 = 5;
static TABLE: [u16; 4] = [1, 2, 3, 4];

mod inner {
    pub static DEEP: i16 = -3;
}

#[inline(never)]
fn add(x: i32) -> i32 {
    x + 1
}

fn main() {
    let i = -5i32;
    let s = -300i16;
    let l = 1u64 << 40;
    let z = 9usize;
    let w = -5i128;
    let f = 2.5f64;
    let g = 0.1f32;
    let t = true;
    let tuple = (1i32, 2.5f64);
    let array = [1i32, 2, 3];
    let nested = [[1u16, 2], [3, 4]];
    let zeros = [0u32; 300];
    let point = Point { x: 1, y: 2.0 };
    let wrap = Wrap(3, Point { x: 4, y: 5.5 });
    let color = Color::Green;
    let red = Color::Red;
    let reference = &i;
    let raw: *const Point = &point;
    let either = Either { i: 5 };
    let func: fn(i32) -> i32 = add;
    let boxed = Box::new(11i32);
    let points = vec![Point { x: 7, y: 8.0 }];
    let text = String::from("text");
    println!("ready {}", std::process::id());
    let mut line = String::new();
    loop {
        line.clear();
        if std::io::stdin().read_line(&mut line).unwrap() == 0 || line.starts_with("quit") {
            break;
        }
        println!("ok {}", unsafe { COUNTER } + GLOBAL as u64 + TABLE[1] as u64);
        black_box(inner::DEEP);
    }
    black_box((i, s, l, z, w, f, g, t, tuple, array, nested, zeros, wrap.0, wrap.1.x, wrap.1.y, color, red));
    black_box((reference, raw, unsafe { either.f }, func(1), boxed, points[0].x, points[0].y, text, point.x, point.y));
}
