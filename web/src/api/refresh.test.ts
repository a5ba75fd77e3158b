import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { api, type Job, type LogEvent } from "./client";
import { refresh } from "./refresh";

const AT = "2026-01-01T00:00:00Z";

const ended = (id: string): Job => ({ id, state: "succeeded", ended: AT, submitted: AT }) as Job;

const events = (ids: string[]) => ids.map((job, version) => ({ version, job }) as LogEvent);

/** A page that shows these lists; how often each was asked for. */
function shown(client: QueryClient, keys: string[][], answer: (key: string[]) => unknown): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const queryKey of keys) {
    const list = queryKey[0] ?? "";
    const queryFn = () => {
      counts[list] = (counts[list] ?? 0) + 1;
      return answer(queryKey);
    };
    new QueryObserver(client, { queryKey, queryFn, staleTime: Infinity }).subscribe(() => undefined);
  }
  return counts;
}

describe("what events have changed", () => {
  const get = vi.spyOn(api, "GET");
  let client: QueryClient;

  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("window", globalThis);
    vi.stubGlobal("document", { hidden: false, addEventListener: () => undefined });
    client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  });

  afterEach(() => {
    client.clear();
    vi.useRealTimers();
    get.mockReset();
  });

  const tasks = () => client.getQueryData<{ items: Job[] }>(["tasks", "job-7"])?.items.map((task) => task.state);
  const running = () => ({ items: [{ ...ended("job-7.0"), state: "running", ended: null }], next: null });
  const answering = () => get.mockResolvedValue({ data: { items: [ended("job-7.0")], next: null } } as never);

  it("is asked for by whole lists when it is very much: those of jobs, of ended ones and of tasks", async () => {
    const keys = [["jobs", "active"], ["ended"], ["tasks", "job-7"]];
    const counts = shown(client, keys, ([list]) => (list === "jobs" ? [] : { items: [], pages: [], next: null }));
    await vi.advanceTimersByTimeAsync(10);
    refresh(client, events(Array.from({ length: 1001 }, (_, index) => `job-7.${String(index)}`)));
    await vi.advanceTimersByTimeAsync(2000);
    expect(counts).toEqual({ jobs: 2, ended: 2, tasks: 2 });
    expect(get).not.toHaveBeenCalled();
  });

  it("is asked for again when the server did not answer", async () => {
    shown(client, [["tasks", "job-7"]], running);
    await vi.advanceTimersByTimeAsync(10);
    get.mockRejectedValueOnce(new Error("too many requests"));
    answering();
    refresh(client, events(["job-7.0"]));
    await vi.advanceTimersByTimeAsync(2000);
    expect(tasks()).toEqual(["running"]);
    await vi.advanceTimersByTimeAsync(3000);
    expect(tasks()).toEqual(["succeeded"]);
  });

  it("is asked for less and less often while the server does not answer", async () => {
    shown(client, [["tasks", "job-7"]], running);
    get.mockRejectedValue(new Error("too many requests"));
    refresh(client, events(["job-7.0"]));
    await vi.advanceTimersByTimeAsync(120_000);
    expect(get.mock.calls.length).toBeLessThan(10);
    answering();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(tasks()).toEqual(["succeeded"]);
  });

  it("is not lost when a whole list could not be had", async () => {
    let asked = 0;
    shown(client, [["tasks", "job-7"]], () => {
      asked += 1;
      if (asked === 2) {
        throw new Error("too many requests");
      }
      return asked === 1 ? running() : { items: [ended("job-7.0")], next: null };
    });
    await vi.advanceTimersByTimeAsync(10);
    refresh(client, events(Array.from({ length: 1001 }, (_, index) => `job-7.${String(index)}`)));
    await vi.advanceTimersByTimeAsync(6000);
    expect(tasks()).toEqual(["succeeded"]);
  });

  it("is put into a list that was on its way when it happened", async () => {
    shown(client, [["tasks", "job-7"]], () => new Promise((resolve) => setTimeout(resolve, 2000, running())));
    answering();
    refresh(client, events(["job-7.0"]));
    await vi.advanceTimersByTimeAsync(6000);
    expect(tasks()).toEqual(["succeeded"]);
  });
});
