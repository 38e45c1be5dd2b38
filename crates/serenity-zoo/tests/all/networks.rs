//! What every network promises, and that those of the literature have the size of the literature.

use serenity_ir::{Graph, json};
use serenity_zoo::{build, macs, networks, weights};
use std::collections::HashSet;

fn every_default() -> impl Iterator<Item = Graph> {
    networks().iter().map(|network| build(network.name).expect(network.name))
}

#[test]
fn every_network_builds_under_its_own_name() {
    for (network, graph) in networks().iter().zip(every_default()) {
        assert_eq!(graph.name(), network.name);
        assert_eq!(build(network.name).unwrap(), graph);
        assert!(!network.summary.is_empty() && !network.reference.is_empty());
        assert_eq!(network.reconstruction, network.name.starts_with("swiftnet"));
    }
}

#[test]
fn names_are_unique() {
    let names: HashSet<_> = networks().iter().map(|network| network.name).collect();
    assert_eq!(names.len(), networks().len());
    for graph in every_default() {
        let ops: HashSet<_> = graph.ops().iter().map(|op| &op.name).collect();
        assert_eq!(ops.len(), graph.ops().len(), "{}", graph.name());
        let tensors: HashSet<_> = graph.tensors().iter().map(|tensor| &tensor.name).collect();
        assert_eq!(tensors.len(), graph.tensors().len(), "{}", graph.name());
    }
}

#[test]
fn ops_are_listed_in_an_order_that_can_run() {
    for graph in every_default() {
        assert!(graph.op_ids().eq(graph.file_order()), "{}", graph.name());
    }
}

#[test]
fn every_network_survives_json() {
    for graph in every_default() {
        assert_eq!(json::parse(&json::write(&graph)).unwrap(), graph, "{}", graph.name());
    }
}

#[test]
fn joined_and_added_tensors_agree_in_size() {
    for graph in every_default() {
        for op in
            graph.ops().iter().filter(|op| ["ADD", "ADD_N", "CONCATENATION"].contains(&op.kind.as_str()))
        {
            let mut sizes = op.inputs.iter().filter_map(|&t| graph.tensor(t).shape.as_ref());
            let Some(first) = sizes.next() else { continue };
            let same = if op.kind.as_str() == "CONCATENATION" { 3 } else { 4 };
            assert!(sizes.all(|size| size[..same] == first[..same]), "{} {}", graph.name(), op.name);
        }
    }
}

/// Multiply-accumulates and weights in millions, as published, each with how far we may be off. Publications differ
/// in what they count (normalisation, biases, auxiliary heads), which explains a few per cent.
#[test]
fn sizes_are_those_of_the_literature() {
    for (spec, published_macs, published_weights) in [
        ("nasnet-cifar", None, (3.3, 0.01)),
        ("nasnet-imagenet", Some((564.0, 0.02)), (5.3, 0.01)),
        ("amoebanet-cifar", None, (3.2, 0.03)),
        ("amoebanet-imagenet", Some((555.0, 0.04)), (5.1, 0.03)),
        ("pnasnet-cifar", None, (3.2, 0.02)),
        ("pnasnet-imagenet", Some((588.0, 0.01)), (5.1, 0.02)),
        ("darts-cifar", None, (3.3, 0.01)),
        // The weights agree, so the network is right; what the other 44 million operations are is not known.
        ("darts-imagenet", Some((574.0, 0.08)), (4.7, 0.01)),
        ("densenet", Some((2870.0, 0.01)), (7.98, 0.01)),
        ("inception", Some((1580.0, 0.01)), (7.0, 0.01)),
        ("mobilenet?width=1.0&resolution=224", Some((569.0, 0.01)), (4.2, 0.01)),
        ("mobilenet", Some((14.0, 0.04)), (0.47, 0.01)),
    ] {
        let graph = build(spec).unwrap();
        let check = |what: &str, measured: u64, (published, tolerance): (f64, f64)| {
            let measured = measured as f64 / 1e6;
            assert!((measured / published - 1.0).abs() < tolerance, "{spec}: {measured} {what}");
        };
        if let Some(published) = published_macs {
            check("million multiply-accumulates", macs(&graph), published);
        }
        check("million weights", weights(&graph), published_weights);
    }
}

/// A change here changes results that people have published: do it only on purpose, and say so in the changelog.
#[test]
fn graphs_do_not_change() {
    let fingerprints: Vec<(&str, u64)> =
        FINGERPRINTS.iter().map(|&(spec, _)| (spec, fingerprint(spec))).collect();
    assert_eq!(fingerprints, FINGERPRINTS);
}

const FINGERPRINTS: &[(&str, u64)] = &[
    ("swiftnet", 0x2041_6bc7_2674_61fe),
    ("darts-cell", 0x7927_cb3d_b2df_0d4c),
    ("darts-imagenet", 0x24fa_a529_0829_0814),
    ("nasnet-imagenet?cells=1", 0xc325_4e5a_2547_07d7),
    ("randwire-cifar10", 0x19f5_ad0a_14a8_43bb),
    ("randwire-cifar10?seed=3&ops=binary", 0x634f_1797_8d77_a561),
    ("randwire-cifar100?seed=2&graph=er", 0xfd85_4ac4_efb4_77fa),
    ("randwire-cifar100?seed=2&graph=ba", 0xe9a1_a099_2fe4_89a9),
    ("random-dag?ops=50&seed=7", 0x4cb1_d7b5_9d22_8d1f),
    ("random-layered?seed=7", 0xe4f0_5585_3164_fed6),
    ("random-window?seed=7", 0xf52f_e099_97ba_89aa),
    ("random-tree?seed=7", 0xb006_2db2_e342_cd57),
    ("random-sp?seed=7", 0x3a3f_085b_79c0_4c13),
    ("random-stack?seed=7", 0xf85e_1fcb_da4c_c1d8),
];

/// FNV-1a of the graph's JSON.
fn fingerprint(spec: &str) -> u64 {
    json::write(&build(spec).expect(spec))
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
