import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { clusterQueries, type Span } from "../../api/clusterQueries";
import { queries } from "../../api/queries";
import { Loaded } from "../../parts/Loaded";
import { useNow } from "../../parts/Time";
import { Figures } from "./Figures";
import { NextStarts } from "./NextStarts";
import "./overview.css";
import { OverTime } from "./OverTime";
import { QueueByTeam, QueueByTier } from "./QueueTables";
import { summary } from "./summary";
import { TroubleList } from "./TroubleList";

/** What the cluster does, what waits, and what is broken. */
export function OverviewPage(): ReactNode {
  const queue = useQuery(queries.queue());
  const troubles = useQuery(clusterQueries.troubles());
  const starts = useQuery(clusterQueries.starts());
  const [span, setSpan] = useState<Span>("3 hours");
  const history = useQuery(clusterQueries.history(span));
  const now = useNow();
  return (
    <>
      <h1>Overview</h1>
      <p className="summary" data-testid="summary">
        {queue.data ? summary(queue.data, starts.data, now) : "…"}
      </p>
      <Loaded query={queue}>{(found) => <Figures queue={found} />}</Loaded>
      <Loaded query={history}>{(found) => <OverTime history={found} span={span} onSpan={setSpan} />}</Loaded>
      <div className="grid wide">
        <section className="sheet">
          <h2>Starting next</h2>
          <Loaded query={starts}>{(found) => <NextStarts starts={found} waiting={queue.data?.waiting ?? 0} />}</Loaded>
        </section>
        <section className="sheet">
          <h2>Needs attention</h2>
          <Loaded query={troubles}>{(found) => <TroubleList troubles={found} />}</Loaded>
        </section>
      </div>
      <div className="grid wide">
        <section className="sheet">
          <h2>Queue and waits by tier</h2>
          <Loaded query={queue}>{(found) => <QueueByTier queue={found} history={history.data} span={span} />}</Loaded>
        </section>
        <section className="sheet">
          <h2>Queue by team</h2>
          <Loaded query={queue}>{(found) => <QueueByTeam queue={found} />}</Loaded>
        </section>
      </div>
    </>
  );
}
