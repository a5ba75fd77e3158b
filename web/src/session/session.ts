/**
 * Who is signed in. The cookie has one half of the session's secret, and no script can read it. The other half is kept
 * here, for pages of this address and port only.
 */

import { forgetDraft } from "./draft";

const PAGE_HALF = "muster.page";

/** Instead of the half, once somebody has signed out: other tabs tell it from a session that has ended. */
const SIGNED_OUT = "";

export function pageHalf(): string {
  return localStorage.getItem(PAGE_HALF) ?? "";
}

export function isSignedIn(): boolean {
  return pageHalf() !== "";
}

export function forgetSession(): void {
  localStorage.removeItem(PAGE_HALF);
}

/** Say when another tab has signed out, or has signed in anew. All tabs have one session. */
export function watchOtherTabs(changed: () => void): () => void {
  const look = ({ key, newValue }: StorageEvent) => {
    if (key === PAGE_HALF && newValue === SIGNED_OUT) {
      forgetDraft();
    }
    // Without a key everything was cleared.
    if (key === PAGE_HALF || key === null) {
      changed();
    }
  };
  window.addEventListener("storage", look);
  return () => {
    window.removeEventListener("storage", look);
  };
}

export type SignInWith = { code: string } | { token: string };

/** Sign in. The error's message says what to do when it fails. */
export async function signIn(body: SignInWith): Promise<void> {
  const answer = await fetch("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const said = (await answer.json()) as { page?: string; detail?: string };
  if (!answer.ok || said.page === undefined) {
    throw new Error(said.detail ?? "the server did not let this browser in");
  }
  localStorage.setItem(PAGE_HALF, said.page);
}

/** End the session. Without an answer of the server, too: without its half no page of this browser can use it. */
export async function signOut(): Promise<void> {
  const headers = { "X-Muster-Page": pageHalf() };
  localStorage.setItem(PAGE_HALF, SIGNED_OUT);
  forgetDraft();
  await fetch("/session", { method: "DELETE", headers }).catch(() => null);
}
