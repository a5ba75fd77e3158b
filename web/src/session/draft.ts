/**
 * The job file that somebody is writing on *Submit*. It outlives a reload, another page and the end of the session, in
 * this tab only, and only for the user who wrote it.
 */

export type Draft = {
  text: string;
  /** The job that it began as a copy of; empty for a new one. */
  from: string;
  held: boolean;
};

const DRAFT = "muster.draft";
/** Longer files are not kept: a tab may store some 5 million characters in all. */
export const LONGEST_DRAFT = 500_000;

/** Keep what is written. What is too long is not kept, nor what was written before it. */
export function keepDraft(user: string, draft: Draft): void {
  if (draft.text.length > LONGEST_DRAFT) {
    forgetDraft();
    return;
  }
  try {
    sessionStorage.setItem(DRAFT, JSON.stringify({ ...draft, user }));
  } catch {
    // The browser has no room. An older draft is no better than none.
    forgetDraft();
  }
}

/** What this user was writing there. */
export function draftOf(user: string, from: string): Draft | undefined {
  const kept = read();
  return kept?.user === user && kept.from === from ? kept : undefined;
}

/** Forget what somebody else was writing in this tab. */
export function forgetDraftOfOthers(user: string): void {
  if (read()?.user !== user) {
    forgetDraft();
  }
}

export function forgetDraft(): void {
  sessionStorage.removeItem(DRAFT);
}

function read(): (Draft & { user: string }) | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(DRAFT) ?? "null") as (Draft & { user: string }) | null;
    return typeof kept?.text === "string" ? kept : undefined;
  } catch {
    return undefined;
  }
}
