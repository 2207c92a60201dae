//! The body with the members of its objects in every other order, while there are not too many.

use super::json::{Layout, Node};

/// Most orders that are tried.
pub(super) const MAX_ORDERS: usize = 6_000;

/// Every other order: of all objects where that is not too many, else of the outermost object alone.
pub(super) fn orders(body: &[u8]) -> Vec<Vec<u8>> {
    let Some(node) = Node::read(body) else {
        return Vec::new();
    };
    let layout = Layout::of(&node, body);
    let all = if count(&node) <= MAX_ORDERS {
        all_orders(&node)
    } else {
        outer_orders(&node)
    };
    all.iter()
        .map(|node| layout.write(node).into_bytes())
        .collect()
}

/// How many orders there are, at most one above the limit.
fn count(node: &Node) -> usize {
    let own = match node {
        Node::Object(members) => factorial(members.len()),
        Node::Leaf(_) | Node::List(_) => 1,
    };
    let inner: Vec<&Node> = match node {
        Node::Leaf(_) => Vec::new(),
        Node::List(list) => list.iter().collect(),
        Node::Object(members) => members.iter().map(|(_, value)| value).collect(),
    };
    let product = |total: usize, value: &Node| total.saturating_mul(count(value));
    inner.into_iter().fold(own, product).min(MAX_ORDERS + 1)
}

fn factorial(n: usize) -> usize {
    (1..=n).fold(1, usize::saturating_mul)
}

fn all_orders(node: &Node) -> Vec<Node> {
    match node {
        Node::Leaf(_) => vec![node.clone()],
        Node::List(list) => {
            let inner = combine(list.iter().map(all_orders).collect());
            inner.into_iter().map(Node::List).collect()
        }
        Node::Object(members) => {
            let names = members.iter().map(|(name, _)| name.clone());
            let values = combine(members.iter().map(|(_, value)| all_orders(value)).collect());
            let names: Vec<String> = names.collect();
            let objects = values.into_iter().map(|values| {
                let members: Vec<_> = names.iter().cloned().zip(values).collect();
                permutations(&members)
            });
            objects.flatten().map(Node::Object).collect()
        }
    }
}

fn outer_orders(node: &Node) -> Vec<Node> {
    match node {
        Node::Object(members) if factorial(members.len()) <= MAX_ORDERS => permutations(members)
            .into_iter()
            .map(Node::Object)
            .collect(),
        Node::Object(_) | Node::Leaf(_) | Node::List(_) => Vec::new(),
    }
}

/// One of each, in every combination.
fn combine(choices: Vec<Vec<Node>>) -> Vec<Vec<Node>> {
    let mut all = vec![Vec::new()];
    for choice in choices {
        let longer = all.iter().flat_map(|start: &Vec<Node>| {
            let with = |one: &Node| [start.as_slice(), std::slice::from_ref(one)].concat();
            choice.iter().map(with).collect::<Vec<_>>()
        });
        all = longer.collect();
    }
    all
}

fn permutations<T: Clone>(of: &[T]) -> Vec<Vec<T>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (index, first) in of.iter().enumerate() {
        let mut rest = of.to_vec();
        rest.remove(index);
        for tail in permutations(&rest) {
            all.push([std::slice::from_ref(first), &tail].concat());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_order_of_every_object_comes_once() {
        let all = orders(br#"{"a":1,"b":{"x":1,"y":2},"c":[{"p":1,"q":2}]}"#);
        assert_eq!(all.len(), 24);
        let distinct: BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), 24);
        let one = br#"{"c":[{"q":2,"p":1}],"b":{"y":2,"x":1},"a":1}"#;
        assert!(all.iter().any(|order| order == one));
    }

    #[test]
    fn with_too_many_orders_only_the_outermost_object_is_tried_or_none() {
        let inner = r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1}"#;
        let all = orders(format!(r#"{{"x":{inner},"y":2}}"#).as_bytes());
        assert_eq!(all.len(), 2);
        assert!(orders(inner.as_bytes()).is_empty());
        assert!(orders(b"no json").is_empty());
    }
}
