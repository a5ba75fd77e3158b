import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";

import type { Job } from "../../api/client";
import { queries } from "../../api/queries";
import "../cluster/cluster.css";
import { GpuMap } from "../cluster/GpuMap";
import { onlyJob } from "../cluster/seeking";

/** Where the job runs: its nodes on the map, with its own GPUs marked. */
export function Placement({ job }: { job: Job }) {
  const all = useQuery(queries.nodes());
  const nodes = useMemo(() => {
    const own = new Set(job.workers.map((worker) => worker.node));
    return (all.data ?? []).filter((node) => own.has(node.name));
  }, [all.data, job.workers]);
  const navigate = useNavigate();
  if (nodes.length === 0) {
    return <section className="sheet placement-sheet" aria-label="Placement" />;
  }
  return (
    <section className="sheet placement-sheet" aria-label="Placement">
      <h2>
        Placement <span className="soft small">{job.workers.length === 1 ? "1 worker" : `${job.workers.length} workers`} on {nodes.length === 1 ? "1 node" : `${nodes.length} nodes`}</span>
      </h2>
      <GpuMap
        nodes={nodes}
        paint="job"
        sought={onlyJob(job.id)}
        isPart
        onOpen={(node) => {
          void navigate({ to: "/nodes", search: { node } });
        }}
      />
    </section>
  );
}
