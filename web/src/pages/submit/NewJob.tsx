import { useQuery } from "@tanstack/react-query";

import { Loaded } from "../../parts/Loaded";
import { BLANK } from "./jobText";
import { submitQueries } from "./queries";
import { Workbench } from "./Workbench";

/** What one begins with: a small job, or the file of another. */
export default function NewJob({ from }: { from: string | undefined }) {
  return from === undefined ? <Workbench first={BLANK} /> : <Like job={from} />;
}

function Like({ job }: { job: string }) {
  const file = useQuery(submitQueries.fileOf(job));
  return <Loaded query={file}>{(text) => <Workbench first={text} />}</Loaded>;
}
