import { expect, test } from "vitest";

import type { Job } from "../api/client";
import { heldInWords, holdMeans, stateInWords } from "./holding";

const worker = { node: "n1", gpus: [0] } as unknown as Job["workers"][number];
const job = (given: Partial<Job>): Job => ({ state: "running", held: true, ended: null, workers: [worker], tasks: null, ...given }) as Job;

test("a job that runs and is held says both, and what it means", () => {
  expect(stateInWords(job({}))).toBe("running, held");
  expect(holdMeans(job({}))).toBe("running, held: it will not start again until released.");
});

test("a job that waits because it is held says so once, and one that has ended or is not held says nothing", () => {
  expect(stateInWords(job({ state: "held", workers: [] }))).toBe("held");
  expect(holdMeans(job({ state: "held", workers: [] }))).toBeUndefined();
  expect(stateInWords(job({ state: "timed_out", ended: "2026-01-01T00:00:00Z" }))).toBe("timed out");
  expect(holdMeans(job({ held: false }))).toBeUndefined();
});

test("of several that were held it is said how many go on", () => {
  const waiting = job({ state: "held", workers: [] });
  expect(heldInWords("3 held", [job({}), job({}), waiting])).toBe(
    "3 held; 2 of them go on running, and will not start again until released",
  );
  expect(heldInWords("2 held", [job({}), waiting])).toContain("1 of them goes on running");
  expect(heldInWords("1 held", [waiting])).toBe("1 held");
});
