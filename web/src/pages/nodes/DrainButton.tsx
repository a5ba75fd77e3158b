import { useState } from "react";

import { api, type Node } from "../../api/client";
import { Ask } from "../../parts/Ask";
import { useNodeChange } from "./change";

/** Takes a node out of service, or back into it, after a question. Whether one may is the server's to say. */
export function DrainButton({ node }: { node: Node }) {
  // What was asked stays asked: somebody else may drain the node meanwhile, and yes must not become its opposite.
  const [asking, setAsking] = useState<"drain" | "undrain" | null>(null);
  const isOut = isOutOfService(node);
  const close = () => {
    setAsking(null);
  };
  return (
    <>
      <button
        onClick={() => {
          setAsking(isOut ? "undrain" : "drain");
        }}
      >
        {isOut ? "Use again" : "Drain"}
      </button>
      {asking === "drain" && <Drain node={node} onClose={close} />}
      {asking === "undrain" && <Undrain node={node} onClose={close} />}
    </>
  );
}

function isOutOfService(node: Node): boolean {
  return node.state === "drained" || node.state === "draining";
}

type Closing = { node: Node; onClose: () => void };

function Drain({ node, onClose }: Closing) {
  const [reason, setReason] = useState("");
  const [evict, setEvict] = useState(false);
  const [grace, setGrace] = useState("");
  const change = useNodeChange(onClose, () =>
    api.POST("/v1/nodes/{node}/drain", {
      params: { path: { node: node.name } },
      body: { reason, evict, grace: evict && grace !== "" ? grace : null },
    }),
  );
  const runs = node.jobs.length;
  return (
    <Ask
      title={`Drain ${node.name}?`}
      verb="Drain"
      isPending={change.isPending}
      problem={change.error?.message}
      onYes={change.mutate}
      onClose={onClose}
    >
      {isOutOfService(node) && (
        <p className="tone-warn" role="status">
          Meanwhile it is {node.state}
          {node.because ? `: ${node.because}` : ""}. That stays its reason.
        </p>
      )}
      <p>
        No new job starts here.{" "}
        {runs === 0
          ? "Nothing that you may see runs here."
          : `${runs} ${runs === 1 ? "job" : "jobs"} that you may see here ${evict ? "will be told to save and leave" : "may go on until the end"}.`}
      </p>
      <label>
        Reason
        <input
          value={reason}
          placeholder="new firmware"
          maxLength={1000}
          onChange={(event) => {
            setReason(event.target.value);
          }}
        />
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={evict}
          onChange={(event) => {
            setEvict(event.target.checked);
          }}
        />
        Tell what runs there to save itself and leave
      </label>
      {evict && (
        <label>
          Within
          <input
            value={grace}
            placeholder="as long as each job asks, or 5m"
            onChange={(event) => {
              setGrace(event.target.value.trim());
            }}
          />
        </label>
      )}
    </Ask>
  );
}

function Undrain({ node, onClose }: Closing) {
  const [reason, setReason] = useState("");
  const change = useNodeChange(onClose, () =>
    api.POST("/v1/nodes/{node}/undrain", { params: { path: { node: node.name } }, body: { reason } }),
  );
  return (
    <Ask
      title={`Use ${node.name} again?`}
      verb="Use again"
      isPending={change.isPending}
      problem={change.error?.message}
      onYes={change.mutate}
      onClose={onClose}
    >
      <p>
        {isOutOfService(node) ? "It is" : "Meanwhile it is"} {node.state}
        {node.because ? `: ${node.because}` : ""}. Jobs may start here again, after its test if the server has one.
      </p>
      <label>
        Reason
        <input
          value={reason}
          maxLength={1000}
          onChange={(event) => {
            setReason(event.target.value);
          }}
        />
      </label>
    </Ask>
  );
}
