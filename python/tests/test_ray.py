"""A real cluster on this machine: two workers, of which one is killed in the middle."""

import pytest
from conftest import random_graph

import serenity

pytest.importorskip("ray", reason="SKIPPED: ray is not installed (pip install serenity-ml[ray])")


@pytest.fixture
def cluster():
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False)
    cluster.wait_for_nodes()
    yield cluster, nodes
    ray.shutdown()
    cluster.shutdown()


def test_a_lost_worker_loses_nothing(cluster, tmp_path):
    from serenity.ray import optimize_many

    cluster, nodes = cluster
    graphs = [random_graph(seed, ops=60) for seed in range(120)]
    sources = [*graphs[:50], "no/such.json", *graphs[50:]]
    seen = []

    def kill_one(done, total):
        seen.append((done, total))
        if len(seen) == 3:
            cluster.remove_node(nodes[0], allow_graceful=False)

    results = optimize_many(sources, batch=5, progress=kill_one)
    alone = serenity.optimize_many(sources)
    assert isinstance(results[50], FileNotFoundError) and isinstance(alone[50], FileNotFoundError)
    del results[50], alone[50]
    assert results == alone
    assert len(seen) == 24 and seen[-1] == (121, 121)
    with pytest.raises(FileNotFoundError):
        optimize_many(sources[48:53], errors="raise")
    with pytest.raises(TypeError, match="unexpected keyword"):
        optimize_many(graphs, speed=1)
