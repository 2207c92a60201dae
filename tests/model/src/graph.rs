//! The pass over the graph of all states: an end can always be reached.
//!
//! The checker's own `eventually` takes a cycle for an end and so misses a send that goes round for ever.
//! Here every edge that was explored is kept, and from the ends the graph is walked backwards, over the steps
//! of machine and time alone, with an API that ends nothing: a send in flight from which no end is met that way
//! never ends.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// A bit of a step that happens of itself where the API only ever says that it knows no outcome.
pub const QUIET: u8 = 1;
/// A bit of a step that happens of itself where the API only ever fails.
pub const FAILING: u8 = 2;

/// A state, as the graph knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node {
    /// Names the state.
    pub print: u64,
    /// The records that are in flight, as bits.
    pub in_flight: u8,
    /// The records that came to an end, as bits.
    pub ended: u8,
}

/// An edge; the bits of `from` come with the edges that lead to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edge {
    from: u64,
    to: Node,
    of_itself: u8,
}

/// Collects the edges while the states are explored.
#[derive(Debug)]
pub struct Recorder {
    edges: Mutex<Vec<Edge>>,
    open: AtomicBool,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            edges: Mutex::default(),
            open: AtomicBool::new(true),
        }
    }
}

impl Recorder {
    /// Whether edges are still collected.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// Adds an edge; `of_itself` has [`QUIET`] and [`FAILING`] where it takes neither a user, nor a person, nor a
    /// fault, nor an answer that ends a send.
    pub fn edge(&self, from: Node, to: Node, of_itself: u8) {
        let mut edges = self.edges.lock().unwrap_or_else(PoisonError::into_inner);
        if edges.is_empty() {
            // The first state has no edge that leads to it.
            edges.push(Edge {
                from: from.print,
                to: from,
                of_itself: QUIET | FAILING,
            });
        }
        edges.push(Edge {
            from: from.print,
            to,
            of_itself,
        });
    }

    /// The graph of what was collected; nothing is collected any more.
    pub fn close(&self) -> Graph {
        self.open.store(false, Ordering::Relaxed);
        let mut edges = self.edges.lock().unwrap_or_else(PoisonError::into_inner);
        Graph::of(&std::mem::take(&mut *edges))
    }
}

/// Nodes and edges by number.
#[derive(Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    /// From, to, and how it happens of itself; by `from`.
    edges: Vec<(u32, u32, u8)>,
}

impl Graph {
    fn of(found: &[Edge]) -> Self {
        let mut nodes: Vec<_> = found.iter().map(|edge| edge.to).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let number = |print: u64| {
            let place = nodes.binary_search_by_key(&print, |node| node.print);
            u32::try_from(place.unwrap_or_default()).unwrap_or(u32::MAX)
        };
        let edges = found.iter().filter(|edge| edge.from != edge.to.print);
        let mut edges: Vec<_> = edges
            .map(|edge| (number(edge.from), number(edge.to.print), edge.of_itself))
            .collect();
        edges.sort_unstable();
        edges.dedup();
        Self { nodes, edges }
    }

    /// How many edges there are.
    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    /// How many states there are.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The way from `first` to the nearest state in which a record is in flight and no end of it can be
    /// reached any more with an API that is `api`: [`QUIET`] or [`FAILING`]; `None` where there is no such state.
    pub fn trap(&self, first: Node, api: u8) -> Option<Vec<Node>> {
        let bits = self
            .nodes
            .iter()
            .fold(0, |bits, node| bits | node.in_flight);
        let traps = (0..8).filter(|bit| bits & 1 << bit != 0);
        let traps = traps.filter_map(|bit| self.way_to_a_trap(first, 1 << bit, api));
        traps.min_by_key(Vec::len)
    }

    fn way_to_a_trap(&self, first: Node, bit: u8, api: u8) -> Option<Vec<Node>> {
        let ends = self.reach_an_end(bit, api);
        let is_trap = |place: usize| self.nodes[place].in_flight & bit != 0 && !ends[place];
        let start = self.nodes.binary_search(&first).ok()?;
        let mut came_from = vec![None; self.nodes.len()];
        came_from[start] = Some(start);
        let mut next = VecDeque::from([start]);
        while let Some(place) = next.pop_front() {
            if is_trap(place) {
                return Some(self.way(&came_from, start, place));
            }
            let begin = self
                .edges
                .partition_point(|(from, ..)| (*from as usize) < place);
            for (_, to, _) in self.edges[begin..]
                .iter()
                .take_while(|(from, ..)| *from as usize == place)
            {
                let to = *to as usize;
                if came_from[to].is_none() {
                    came_from[to] = Some(place);
                    next.push_back(to);
                }
            }
        }
        None
    }

    fn way(&self, came_from: &[Option<usize>], start: usize, mut place: usize) -> Vec<Node> {
        let mut way = vec![self.nodes[place]];
        while place != start
            && let Some(before) = came_from[place]
        {
            place = before;
            way.push(self.nodes[place]);
        }
        way.reverse();
        way
    }

    /// For each state, whether an end of this record can be reached from it by steps that happen of themselves.
    fn reach_an_end(&self, bit: u8, api: u8) -> Vec<bool> {
        let mut back: Vec<_> = self
            .edges
            .iter()
            .filter(|(.., itself)| *itself & api != 0)
            .map(|(from, to, _)| (*to, *from))
            .collect();
        back.sort_unstable();
        let mut reach: Vec<_> = self
            .nodes
            .iter()
            .map(|node| node.ended & bit != 0)
            .collect();
        let ended = reach.iter().enumerate().filter(|(_, ended)| **ended);
        let mut next: Vec<_> = ended.map(|(place, _)| place).collect();
        while let Some(place) = next.pop() {
            let begin = back.partition_point(|(to, _)| (*to as usize) < place);
            for (_, from) in back[begin..]
                .iter()
                .take_while(|(to, _)| *to as usize == place)
            {
                let from = *from as usize;
                if !reach[from] {
                    reach[from] = true;
                    next.push(from);
                }
            }
        }
        reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(print: u64, in_flight: u8, ended: u8) -> Node {
        Node {
            print,
            in_flight,
            ended,
        }
    }

    fn graph(edges: &[(u64, u64, u8)], ends: &[u64]) -> Graph {
        let recorder = Recorder::default();
        let node = |print: u64| node(print, 1, u8::from(ends.contains(&print)));
        for (from, to, of_itself) in edges {
            recorder.edge(node(*from), node(*to), *of_itself);
        }
        recorder.close()
    }

    fn trap(graph: &Graph) -> Option<Vec<u64>> {
        let way = graph.trap(node(0, 1, 0), QUIET)?;
        Some(way.into_iter().map(|node| node.print).collect())
    }

    #[test]
    fn a_cycle_without_a_way_out_is_a_trap_and_the_way_to_it_is_shown() {
        let edges = [
            (0, 1, QUIET),
            (1, 9, QUIET),
            (1, 2, 0),
            (2, 3, QUIET),
            (3, 2, QUIET),
        ];
        assert_eq!(trap(&graph(&edges, &[9])), Some(vec![0, 1, 2]));
    }

    #[test]
    fn a_cycle_with_a_way_out_is_none() {
        let edges = [(0, 1, QUIET), (1, 0, QUIET), (1, 9, QUIET)];
        assert_eq!(trap(&graph(&edges, &[9])), None);
    }

    #[test]
    fn a_way_out_that_needs_a_person_is_no_way_out() {
        let edges = [(0, 1, QUIET), (1, 0, QUIET), (1, 9, 0)];
        assert_eq!(trap(&graph(&edges, &[9])), Some(vec![0]));
    }

    #[test]
    fn each_record_must_come_to_an_end_of_its_own() {
        let recorder = Recorder::default();
        recorder.edge(node(0, 3, 0), node(1, 2, 1), QUIET);
        assert_eq!(
            recorder.close().trap(node(0, 3, 0), QUIET),
            Some(vec![node(0, 3, 0)])
        );
    }

    #[test]
    fn a_way_out_that_needs_an_answer_is_none_for_an_api_that_fails() {
        let graph = graph(&[(0, 9, QUIET), (0, 1, FAILING), (1, 0, FAILING)], &[9]);
        let first = node(0, 1, 0);
        assert_eq!(graph.trap(first, FAILING), Some(vec![first]));
        let trap = graph.trap(first, QUIET);
        assert_eq!(trap.map(|way| way.len()), Some(2));
    }
}
