import { useQuery } from "@tanstack/react-query";

import { queries } from "../../api/queries";
import { Loaded } from "../../parts/Loaded";
import { blank, ownTeam } from "./jobText";
import { submitQueries } from "./queries";
import { Workbench } from "./Workbench";

/** What one begins with: a small job, or the file of another. */
export default function NewJob({ from }: { from: string | undefined }) {
  const me = useQuery(queries.me());
  return (
    <Loaded query={me}>
      {(who) =>
        from === undefined ? (
          <Workbench first={blank(ownTeam(who.bindings))} user={who.name} from="" />
        ) : (
          <Like job={from} user={who.name} />
        )
      }
    </Loaded>
  );
}

function Like({ job, user }: { job: string; user: string }) {
  const file = useQuery(submitQueries.fileOf(job));
  return <Loaded query={file}>{(text) => <Workbench first={text} user={user} from={job} />}</Loaded>;
}
