import type { Schema } from "../api/client";
import { exactTime } from "./Time";

type Explained = Pick<Schema["Why"], "headline" | "reasons" | "starts_if" | "when">;

/** Why a job waits or would wait, what would help, and when it will probably start: the server's own sentences. */
export function Explanation({ of }: { of: Explained }) {
  return (
    <>
      <p>{of.headline}</p>
      <ul data-testid="why">
        {of.reasons.map((reason, index) => (
          <li key={index}>
            {reason.message}
            {reason.detail && <div className="soft">{reason.detail}</div>}
            {reason.would_help && <div className="soft">Would help: {reason.would_help}</div>}
          </li>
        ))}
      </ul>
      {of.starts_if.length > 0 && <p>It would start now {of.starts_if.join(" or ")}.</p>}
      <p data-testid="estimate">
        {of.when.map((remark, index) => (
          <span key={index} title={remark.at ? exactTime(remark.at) : undefined}>
            {remark.text}{" "}
          </span>
        ))}
      </p>
    </>
  );
}
