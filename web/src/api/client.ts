/** Requests to the public API, with the rights of whoever is signed in. */

import createClient, { type Middleware } from "openapi-fetch";

import { forgetSession, isSignedIn, pageHalf } from "../session/session";
import { heard } from "../words/clock";
import { unturnedJson } from "../words/direction";
import type { components, paths } from "./schema";

export type Schema = components["schemas"];
export type Job = Schema["Job"];
export type JobState = Schema["JobState"];
export type Node = Schema["Node"];
export type Team = Schema["Team"];
export type Why = Schema["Why"];
export type Queue = Schema["Queue"];
export type LogEvent = Schema["LogEvent"];

/** What the server said when it did not do what was asked. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly fields: Schema["FieldError"][] = [],
  ) {
    super(detail);
  }
}

/** Instead of what the browser says when there is no answer at all. */
export const UNREACHED = "The server cannot be reached. It is asked again and again; once this page is live, try again.";

const JSON_TYPES = ["application/json", "application/problem+json"];

const session: Middleware = {
  onRequest({ request }) {
    request.headers.set("X-Muster-Page", pageHalf());
    return request;
  },
  async onResponse({ response }) {
    heard(response.headers.get("Date"));
    const answer = isJson(response) ? new Response(unturnedJson(await response.text()), response) : response;
    if (answer.ok) {
      return answer;
    }
    if (response.status === 401 && isSignedIn()) {
      forgetSession();
      window.dispatchEvent(new Event("muster:signed-out"));
    }
    const said = (await answer.json().catch(() => ({}))) as Partial<Schema["Problem"]>;
    throw new Problem(response.status, said.detail ?? response.statusText, said.errors ?? []);
  },
  onError() {
    return new Error(UNREACHED);
  },
};

/** Whether the answer is one JSON document. JSON lines are not: they are saved as they came, sign by sign. */
function isJson(response: Response): boolean {
  const [type] = (response.headers.get("Content-Type") ?? "").split(";");
  return JSON_TYPES.includes((type ?? "").trim().toLowerCase());
}

export const api = createClient<paths>();
api.use(session);

/** The body of an answer. What failed was raised before. */
export function body<T>(answer: { data?: T }): T {
  if (answer.data === undefined) {
    throw new Problem(0, "the server sent an empty answer");
  }
  return answer.data;
}

type Page<T> = { items: T[]; next: string | null };

/** All items of a list that comes in pages. */
export async function allPages<T>(load: (cursor: string | undefined) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await load(cursor);
    items.push(...page.items);
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
  return items;
}
