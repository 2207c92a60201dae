//! The repository chores.

fn main() {}
