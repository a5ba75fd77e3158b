import { useQuery } from "@tanstack/react-query";

import { queries } from "../../api/queries";
import { Loaded } from "../../parts/Loaded";
import { blank, ownTeam } from "./jobText";
import { submitQueries } from "./queries";
import { Workbench } from "./Workbench";

/** What one begins with: a small job, or the file of another. */
export default function NewJob({ from }: { from: string | undefined }) {
  return from === undefined ? <Blank /> : <Like job={from} />;
}

function Blank() {
  const me = useQuery(queries.me());
  return <Loaded query={me}>{(who) => <Workbench first={blank(ownTeam(who.bindings))} />}</Loaded>;
}

function Like({ job }: { job: string }) {
  const file = useQuery(submitQueries.fileOf(job));
  return <Loaded query={file}>{(text) => <Workbench first={text} />}</Loaded>;
}
