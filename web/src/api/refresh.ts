/**
 * Keeps what pages show up to date. Events only say that something has changed. The jobs that changed are asked for
 * together, once in a while, and put into the lists that are shown, so that fifty events in a second cost one request
 * and not ten thousand jobs. What is counted over all jobs is asked again at a pace of its own.
 */

import type { InfiniteData, QueryClient } from "@tanstack/react-query";

import { api, body, type Job, type LogEvent } from "./client";
import { patchedActive, patchedEnded, renewed } from "./jobLists";
import { type EndedFilters, type JobPage, type TaskList, endedLike } from "./queries";

/** How often changed jobs are asked for. */
const EVERY_MS = 1500;
/** How often at least while the server does not answer. The pause doubles with each time that it did not. */
const SELDOM_MS = 30_000;
/** How often the rest is asked for, at most, while things happen. */
const PACES_MS: Readonly<Record<string, number>> = { queue: 2000, troubles: 3000, nodes: 5000, teams: 5000 };
/** The lists that hold jobs. Nothing else asks for them again. */
const LISTS = ["jobs", "ended", "tasks"];
/** Ids in one request; the server takes no more. */
const AT_ONCE = 200;
/** When more has changed than this, whole lists are asked for. */
const MANY = 1000;
/** Jobs that ended while their row was looked at. */
const JUST_ENDED = 500;
/** Events of one job that are kept. */
const EVENTS_KEPT = 5000;

const refreshers = new WeakMap<QueryClient, Refresher>();

/** Bring up to date what these events have changed, as far as a page shows it. */
export function refresh(client: QueryClient, events: LogEvent[]): void {
  let refresher = refreshers.get(client);
  if (refresher === undefined) {
    refresher = new Refresher(client);
    refreshers.set(client, refresher);
  }
  refresher.note(events);
}

class Refresher {
  private changed = new Set<string>();
  /** What is to be asked again, and from when on. */
  private readonly due = new Map<string, number>();
  /** When each may be asked again at the earliest. */
  private readonly next = new Map<string, number>();
  private timer: number | undefined;
  private last = 0;
  private pauseMs = EVERY_MS;

  constructor(private readonly client: QueryClient) {
    document.addEventListener("visibilitychange", () => {
      this.schedule();
    });
  }

  note(events: LogEvent[]): void {
    for (const event of events) {
      if (event.job !== null) {
        this.changed.add(event.job);
      }
    }
    appendEvents(this.client, events);
    for (const key of Object.keys(PACES_MS)) {
      this.due.set(key, this.due.get(key) ?? this.next.get(key) ?? 0);
    }
    this.schedule();
  }

  private schedule(): void {
    const hasWork = this.changed.size > 0 || this.due.size > 0;
    if (this.timer === undefined && hasWork && !document.hidden) {
      this.timer = window.setTimeout(() => void this.flush(), Math.max(0, this.last + this.pauseMs - Date.now()));
    }
  }

  private async flush(): Promise<void> {
    const ids = [...this.changed];
    this.changed = new Set();
    this.askAgain();
    for (const id of ids) {
      void this.client.invalidateQueries({ queryKey: ["job", id] });
    }
    try {
      await this.patch(ids);
      this.pauseMs = EVERY_MS;
    } catch {
      // The server did not answer, or had too many requests. No later event says again that these jobs have changed.
      this.putBack(ids);
      this.pauseMs = Math.min(2 * this.pauseMs, SELDOM_MS);
    }
    this.last = Date.now();
    this.timer = undefined;
    this.schedule();
  }

  /** Ask for these the next time. One more than many is enough: then whole lists are asked for, whatever has changed. */
  private putBack(ids: string[]): void {
    ids.slice(0, MANY + 1).forEach((id) => this.changed.add(id));
  }

  /** Ask again for what is counted over all jobs, if its time has come. */
  private askAgain(): void {
    const now = Date.now();
    for (const [key, from] of this.due) {
      if (now >= from) {
        void this.client.invalidateQueries({ queryKey: [key] });
        this.due.delete(key);
        this.next.set(key, now + (PACES_MS[key] ?? 0));
      }
    }
  }

  private async patch(ids: string[]): Promise<void> {
    const isShown = (key: string) =>
      this.client.getQueryCache().findAll({ queryKey: [key] }).some((query) => query.getObserversCount() > 0);
    for (const key of LISTS.filter((each) => !isShown(each))) {
      void this.client.invalidateQueries({ queryKey: [key], refetchType: "none" });
    }
    if (ids.length === 0 || !LISTS.some(isShown)) {
      return;
    }
    if (LISTS.some((key) => this.client.isFetching({ queryKey: [key] }) > 0)) {
      // What is on its way may be older than these events: they are put into it when it is there.
      this.putBack(ids);
      return;
    }
    if (ids.length > MANY) {
      const again = LISTS.map((key) => this.client.invalidateQueries({ queryKey: [key] }, { throwOnError: true }));
      await Promise.all(again);
      return;
    }
    putInto(this.client, await asked(ids));
  }
}

/** These jobs, and the arrays of those that are tasks, as they are now. */
async function asked(ids: string[]): Promise<Job[]> {
  const wanted = [...new Set(ids.flatMap((id) => (id.includes(".") ? [id, id.slice(0, id.lastIndexOf("."))] : [id])))];
  const found: Job[] = [];
  for (let start = 0; start < wanted.length; start += AT_ONCE) {
    const query = { id: wanted.slice(start, start + AT_ONCE), brief: true, limit: AT_ONCE };
    found.push(...body(await api.GET("/v1/jobs", { params: { query } })).items);
  }
  return found;
}

/** Put jobs into every list that is kept. */
export function putInto(client: QueryClient, fresh: Job[]): void {
  client.setQueryData<Job[]>(["jobs", "active"], (jobs) => jobs && patchedActive(jobs, fresh));
  client.setQueriesData<TaskList>({ queryKey: ["tasks"] }, (tasks) => tasks && { ...tasks, items: renewed(tasks.items, fresh) });
  for (const query of client.getQueryCache().findAll({ queryKey: ["ended"] })) {
    const like = endedLike(query.queryKey[1] as EndedFilters);
    client.setQueryData<InfiniteData<JobPage>>(query.queryKey, (found) => found && withEnded(found, fresh.filter(like)));
  }
  client.setQueryData<Job[]>(["just-ended"], (before = []) =>
    [...fresh.filter((job) => job.ended !== null), ...before].slice(0, JUST_ENDED),
  );
}

function withEnded(found: InfiniteData<JobPage>, fresh: Job[]): InfiniteData<JobPage> {
  const [first, ...others] = found.pages;
  if (first === undefined || fresh.length === 0) {
    return found;
  }
  const older = new Set(others.flatMap((page) => page.items.map((job) => job.id)));
  const items = patchedEnded(first.items, fresh.filter((job) => !older.has(job.id)), first.next === null);
  return { ...found, pages: [{ ...first, items }, ...others] };
}

/** The events of a job that is looked at arrive with the stream, and need not be asked for. */
function appendEvents(client: QueryClient, events: LogEvent[]): void {
  for (const job of new Set(events.map((event) => event.job))) {
    client.setQueryData<LogEvent[]>(["events", job], (before) =>
      before && appended(before, events.filter((event) => event.job === job)),
    );
  }
}

export function appended(before: LogEvent[], events: LogEvent[]): LogEvent[] {
  const last = before.at(-1)?.version ?? -1;
  const newer = events.filter((event) => event.version > last);
  return newer.length === 0 ? before : [...before, ...newer].slice(-EVENTS_KEPT);
}
