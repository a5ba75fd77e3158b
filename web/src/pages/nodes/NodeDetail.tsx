import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import type { Node } from "../../api/client";
import { clusterQueries, type NodeHealth } from "../../api/clusterQueries";
import { Loaded } from "../../parts/Loaded";
import { NodeStateBadge } from "../../parts/State";
import { Time } from "../../parts/Time";
import { gpus, measured } from "../../words/amounts";
import { inWords } from "../../words/states";
import { DrainButton } from "./DrainButton";
import "./nodes.css";

/** All about one node: its state and why, its GPUs, its jobs, what was measured, and taking it out of service. */
export function NodeDetail({ node }: { node: Node }) {
  const health = useQuery(clusterQueries.health(node.name));
  const named = new Map(node.gpu_uses.map((use) => [use.job, use.name]));
  return (
    <div className="node-detail">
      <div className="row">
        <NodeStateBadge state={node.state} />
        {node.because && <span>{node.because}</span>}
        <DrainButton node={node} />
      </div>
      <dl className="facts">
        <Fact name="GPUs in use">
          {gpus(node.used.gpus)} of {node.gpus} {node.gpu_type ?? ""}
        </Fact>
        <Fact name="CPUs in use">{node.cpus === null ? "not counted" : `${gpus(node.used.cpus)} of ${node.cpus}`}</Fact>
        <Fact name="Memory in use">{memory(node)}</Fact>
        <Fact name="Pool">{node.pool}</Fact>
        {Object.entries(node.domains).map(([level, domain]) => (
          <Fact key={level} name={level}>
            {domain}
          </Fact>
        ))}
        <Fact name="Labels">{node.labels.join(", ") || "none"}</Fact>
        <Fact name="Jobs">
          {node.jobs.length === 0 && "none that you may see"}
          {node.jobs.map((job) => (
            <Link key={job} to="/jobs/$job" params={{ job }} className="listed">
              {named.get(job) ?? ""} <span className="soft small">{job}</span>
            </Link>
          ))}
        </Fact>
      </dl>
      <Loaded query={health}>{(found) => <Health health={found} />}</Loaded>
    </div>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const GIB = 1024 ** 3;

function memory(node: Node): string {
  const used = Math.round(node.used.memory_bytes / GIB);
  return node.memory_bytes === null ? "not counted" : `${used} of ${Math.round(node.memory_bytes / GIB)} GiB`;
}

function Health({ health }: { health: NodeHealth }) {
  return (
    <div className="health">
      <div className="gpu-states" role="group" aria-label="State of each GPU">
        <span className="soft small">GPUs</span>
        {health.gpus.map((gpu) => (
          <span key={gpu.index} className={`gpu-state ${gpu.state}`} title={gpu.because ?? ""}>
            {gpu.index} {gpu.state !== "ready" && gpu.state}
          </span>
        ))}
      </div>
      {health.signals.length === 0 ? (
        <p className="soft small">Nothing was measured on this node yet.</p>
      ) : (
        <table className="signals">
          <thead>
            <tr>
              <th>Signal</th>
              <th>Of</th>
              <th className="number">Value</th>
              <th>Verdict</th>
              <th>Measured</th>
            </tr>
          </thead>
          <tbody>
            {health.signals.map((each) => (
              <tr key={`${each.signal} ${each.gpu ?? ""} ${each.nic ?? ""}`}>
                <td>{inWords(each.signal)}</td>
                <td>{each.gpu === null ? (each.nic ?? "node") : `GPU ${each.gpu}`}</td>
                <td className="number">
                  {measured(each.value, each.unit)}
                  {each.rise !== null && each.rise > 0 && <span className="tone-warn"> +{each.rise}</span>}
                </td>
                <td>{each.verdict ?? ""}</td>
                <td>
                  <Time at={each.at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {health.notes.map((note) => (
        <p key={note} className="soft small">
          {note}
        </p>
      ))}
    </div>
  );
}
