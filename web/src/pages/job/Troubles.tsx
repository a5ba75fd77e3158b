import type { Job } from "../../api/client";
import { Time } from "../../parts/Time";

/** What is wrong with a job now. */
export function Troubles({ job }: { job: Job }) {
  const { hang, stragglers, problem, saves, no_larger: noLarger } = job;
  return (
    <>
      {problem && (
        <p className="notice bad" role="alert">
          {problem}
        </p>
      )}
      {hang && (
        <p className="notice bad" role="alert">
          It stands still after step {hang.step}, since <Time at={hang.since} />; the others wait for rank{" "}
          {hang.ranks.slice(0, TOLD).join(", ")}.
        </p>
      )}
      {stragglers.length > 0 && (
        <p className="notice">
          {stragglers.slice(0, TOLD).map((slow) => (
            <span key={slow.rank}>
              Rank {slow.rank} on {slow.node} is {slow.slowdown.toFixed(2)} times as slow as its peers, since{" "}
              <Time at={slow.since} />.{" "}
            </span>
          ))}
          {stragglers.length > TOLD && `And ${stragglers.length - TOLD} more.`}
        </p>
      )}
      {saves?.upload_problem && <p className="notice">Its newest checkpoint is not stored durably: {saves.upload_problem}</p>}
      {noLarger && <p className="notice">{noLarger}</p>}
    </>
  );
}

const TOLD = 8;
