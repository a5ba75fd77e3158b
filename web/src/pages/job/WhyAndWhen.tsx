import { useQuery } from "@tanstack/react-query";

import { queries } from "../../api/queries";
import { Explanation } from "../../parts/Explanation";
import { Loaded } from "../../parts/Loaded";

/** Why a job waits, what would help, and when it will probably start. */
export function WhyAndWhen({ job }: { job: string }) {
  const why = useQuery(queries.why(job));
  return (
    <section className="sheet" aria-label="Why and when">
      <h2>Why it waits</h2>
      <Loaded query={why}>{(found) => <Explanation of={found} />}</Loaded>
    </section>
  );
}
