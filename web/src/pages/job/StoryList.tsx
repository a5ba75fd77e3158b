import { useQuery } from "@tanstack/react-query";

import { queries } from "../../api/queries";
import { Loaded } from "../../parts/Loaded";
import { Time } from "../../parts/Time";

/** How the job got where it is, in sentences, the newest first. */
export function StoryList({ job }: { job: string }) {
  const story = useQuery(queries.story(job));
  return (
    <section className="sheet" aria-label="What happened">
      <h2>What happened</h2>
      <Loaded query={story}>
        {(found) => (
          <table>
            <tbody>
              {found.sentences.toReversed().map((sentence, index) => (
                <tr key={index}>
                  <td className="when">
                    <Time at={sentence.at} />
                  </td>
                  <td>
                    {sentence.text}
                    {sentence.times > 1 && <span className="soft"> ({sentence.times} times)</span>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Loaded>
    </section>
  );
}
