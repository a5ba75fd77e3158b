/** Things that are asked of several jobs, a few at a time. */

import { Problem } from "./client";

/** Requests that are under way at once: the browser has six connections, and others want some. */
const AT_ONCE = 4;

export type Outcome = { id: string; refused: string | null };

/** Ask something of each, and say how it went. What is refused for one does not keep the others from being asked. */
export async function forEach(ids: string[], ask: (id: string) => Promise<unknown>): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const left = ids.values();
  const work = async () => {
    for (const id of left) {
      outcomes.push({ id, refused: await refusal(ask(id)) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return outcomes;
}

async function refusal(asked: Promise<unknown>): Promise<string | null> {
  try {
    await asked;
    return null;
  } catch (error) {
    return error instanceof Problem ? error.message : "the server did not answer";
  }
}

const TOLD = 3;

/** "7 cancelled, 1 refused: job-9: it has ended". */
export function summary(done: string, outcomes: Outcome[]): string {
  const refused = outcomes.filter((each) => each.refused !== null);
  const well = `${outcomes.length - refused.length} ${done}`;
  if (refused.length === 0) {
    return well;
  }
  const told = refused.slice(0, TOLD).map((each) => `${each.id}: ${each.refused ?? ""}`);
  const more = refused.length > TOLD ? `; and ${refused.length - TOLD} more` : "";
  return `${well}, ${refused.length} refused: ${told.join("; ")}${more}`;
}
