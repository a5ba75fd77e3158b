import { useState } from "react";

import { type Draft, draftOf, forgetDraft, keepDraft } from "../../session/draft";

export type Begun = { first: string; user: string; from: string };

/** The job that is being written, kept in this tab until it is submitted or thrown away. */
export function useDraft({ first, user, from }: Begun) {
  const [restored, setRestored] = useState(() => draftOf(user, from));
  const [draft, setDraft] = useState<Draft>(() => restored ?? { text: first, from, held: false });
  const write = (change: Partial<Draft>) => {
    const changed = { ...draft, ...change };
    setDraft(changed);
    // The editor also tells of the text that it was given, which nobody has typed.
    if (changed.text !== draft.text || changed.held !== draft.held) {
      keepDraft(user, changed);
    }
  };
  const discard = () => {
    forgetDraft();
    setRestored(undefined);
    setDraft({ text: first, from, held: false });
  };
  return { draft, isRestored: restored !== undefined, write, discard };
}
