import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { api, type Node } from "../../api/client";
import { clusterQueries, type Reservation } from "../../api/clusterQueries";
import { Ask } from "../../parts/Ask";
import { Empty, Loaded } from "../../parts/Loaded";
import { Time } from "../../parts/Time";
import { useNodeChange } from "./change";

/** Nodes that are set aside for a while, and setting some aside. */
export function Reservations({ nodes }: { nodes: Node[] }) {
  const reservations = useQuery(clusterQueries.reservations());
  const [isMaking, setMaking] = useState(false);
  return (
    <section className="sheet">
      <div className="row">
        <h2>Reservations</h2>
        <button
          onClick={() => {
            setMaking(true);
          }}
        >
          Reserve nodes
        </button>
      </div>
      <Loaded query={reservations}>
        {(found) =>
          found.length === 0 ? <Empty>No nodes are set aside. Reserve some for maintenance or for a team.</Empty> : <ReservationTable reservations={found} />
        }
      </Loaded>
      {isMaking && (
        <Reserve
          example={nodes[0]?.name ?? "n1"}
          onClose={() => {
            setMaking(false);
          }}
        />
      )}
    </section>
  );
}

function ReservationTable({ reservations }: { reservations: Reservation[] }) {
  const [removed, setRemoved] = useState<Reservation>();
  return (
    <div className="across">
      <table>
        <thead>
          <tr>
            <th>Name</th>
            <th>Nodes</th>
            <th>From</th>
            <th>To</th>
            <th>For</th>
            <th>Because</th>
            <th aria-label="Change" />
          </tr>
        </thead>
        <tbody>
          {reservations.map((each) => (
            <tr key={each.name}>
              <td>{each.name}</td>
              <td>{each.nodes.join(", ")}</td>
              <td>{each.open ? <span className="badge tone-warn">open</span> : <Time at={each.start} />}</td>
              <td>
                <Time at={each.end} />
              </td>
              <td>{each.team ?? each.user ?? "nobody"}</td>
              <td>{each.because ?? ""}</td>
              <td>
                <button
                  onClick={() => {
                    setRemoved(each);
                  }}
                >
                  Remove
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {removed && (
        <Remove
          name={removed.name}
          onClose={() => {
            setRemoved(undefined);
          }}
        />
      )}
    </div>
  );
}

function Remove({ name, onClose }: { name: string; onClose: () => void }) {
  const change = useNodeChange(onClose, () =>
    api.POST("/v1/reservations/{name}/remove", { params: { path: { name } }, body: { reason: "" } }),
  );
  return (
    <Ask
      title={`Remove the reservation ${name}?`}
      verb="Remove"
      isPending={change.isPending}
      problem={change.error?.message}
      onYes={change.mutate}
      onClose={onClose}
    >
      <p>Its nodes take any job again.</p>
    </Ask>
  );
}

const FIELDS = [
  ["name", "Name", "firmware"],
  ["nodes", "Nodes", ""],
  ["start", "From", "now, 2h, or 2026-12-01T08:00:00Z"],
  ["end", "To", "4h after the start, or a time"],
  ["team", "For the team", "nobody"],
  ["reason", "Because", ""],
] as const;
type Field = (typeof FIELDS)[number][0];

function Reserve({ example, onClose }: { example: string; onClose: () => void }) {
  const [wanted, setWanted] = useState<Record<Field, string>>({
    name: "",
    nodes: "",
    start: "now",
    end: "4h",
    team: "",
    reason: "",
  });
  const change = useNodeChange(onClose, () => {
    const nodes = wanted.nodes.split(/[\s,]+(?![^[]*\])/).filter((each) => each !== "");
    return api.POST("/v1/reservations", { body: { ...wanted, nodes, user: "" } });
  });
  return (
    <Ask
      title="Reserve nodes"
      verb="Reserve"
      isPending={change.isPending}
      problem={change.error?.message}
      onYes={change.mutate}
      onClose={onClose}
    >
      {FIELDS.map(([field, label, hint]) => (
        <label key={field}>
          {label}
          <input
            value={wanted[field]}
            placeholder={field === "nodes" ? `${example}, or a range such as n[1-4]` : hint}
            onChange={(event) => {
              setWanted({ ...wanted, [field]: event.target.value });
            }}
          />
        </label>
      ))}
    </Ask>
  );
}
