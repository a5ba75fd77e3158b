import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Fragment, type ReactNode, useMemo, useState } from "react";

import type { Node } from "../../api/client";
import { clusterQueries, type NodeHealth } from "../../api/clusterQueries";
import { queries } from "../../api/queries";
import { Choice } from "../../parts/Choice";
import { Empty, Loaded } from "../../parts/Loaded";
import { NodeStateBadge } from "../../parts/State";
import { Time } from "../../parts/Time";
import { gpus } from "../../words/amounts";
import { NodeDetail } from "./NodeDetail";
import "./nodes.css";
import { Reservations } from "./Reservations";
import { type Filter, FILTERS, matches, shownOf } from "./filters";

export type NodeSearch = { node?: string | undefined };

/** More rows than this are shown only when they are asked for. */
const SHOWN = 200;

export function NodesPage(): ReactNode {
  const nodes = useQuery(queries.nodes());
  return (
    <>
      <h1>Nodes</h1>
      <Loaded query={nodes}>
        {(found) => (found.length === 0 ? <Empty>There are no nodes.</Empty> : <NodeTable nodes={found} />)}
      </Loaded>
      <Reservations nodes={nodes.data ?? []} />
    </>
  );
}

function NodeTable({ nodes }: { nodes: Node[] }) {
  const { node: opened }: NodeSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const healths = useQuery(clusterQueries.healths()).data;
  const byNode = useMemo(() => new Map(healths?.map((each) => [each.node, each])), [healths]);
  const [text, setText] = useState("");
  const [filter, setFilter] = useState<Filter>("all");
  const [limit, setLimit] = useState(SHOWN);
  const found = nodes.filter((node) => node.name === opened || matches(node, filter, text));
  const toggle = (name: string) => {
    void navigate({ to: "/nodes", search: { node: name === opened ? undefined : name }, replace: true });
  };
  return (
    <div className="sheet">
      <div className="row filters">
        <input
          type="search"
          placeholder="Name, type, pool, label, reason"
          aria-label="Find a node"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
          }}
        />
        <Choice label="Which nodes" value={filter} options={FILTERS} onChoose={setFilter} />
        <span className="soft">
          {found.length} of {nodes.length === 1 ? "1 node" : `${nodes.length} nodes`}
        </span>
      </div>
      <div className="across">
        <table className="node-table">
          <thead>
            <tr>
              <th>Node</th>
              <th>State</th>
              <th>Since</th>
              <th>GPUs in use</th>
              <th>Pool</th>
              <th>Place</th>
              <th>Because</th>
            </tr>
          </thead>
          <tbody>
            {shownOf(found, opened, limit).map((node) => (
              <Fragment key={node.name}>
                <NodeRow node={node} health={byNode.get(node.name)} isOpen={node.name === opened} onToggle={toggle} />
                {node.name === opened && (
                  <tr ref={intoSight}>
                    <td colSpan={7} className="opened">
                      <NodeDetail node={node} />
                    </td>
                  </tr>
                )}
              </Fragment>
            ))}
          </tbody>
        </table>
      </div>
      {found.length > limit && (
        <button
          onClick={() => {
            setLimit(limit + SHOWN);
          }}
        >
          Show more
        </button>
      )}
    </div>
  );
}

/** Whoever came for a node should not have to look for it. */
function intoSight(row: HTMLElement | null): void {
  row?.scrollIntoView({ block: "nearest" });
}

type Row = { node: Node; health: NodeHealth | undefined; isOpen: boolean; onToggle: (name: string) => void };

function NodeRow({ node, health, isOpen, onToggle }: Row) {
  return (
    <tr data-testid="node-row" data-node={node.name}>
      <td>
        <button
          className="opens"
          aria-expanded={isOpen}
          onClick={() => {
            onToggle(node.name);
          }}
        >
          {isOpen ? "▾" : "▸"} {node.name}
        </button>
      </td>
      <td>
        <NodeStateBadge state={node.state} />
      </td>
      <td className="when">{health ? <Time at={health.since} /> : "–"}</td>
      <td>
        {gpus(node.used.gpus)} of {node.gpus} {node.gpu_type ?? ""}
        {node.bad_gpus.length > 0 && <span className="tone-bad"> · {node.bad_gpus.length} bad</span>}
      </td>
      <td>{node.pool}</td>
      <td className="soft">{Object.values(node.domains).join(" / ") || "–"}</td>
      <td className="because">
        {node.because ?? ""}
        {node.spare && <span className="soft"> kept as a spare</span>}
        {node.reservations.length > 0 && <span className="soft"> reserved: {node.reservations.join(", ")}</span>}
      </td>
    </tr>
  );
}
