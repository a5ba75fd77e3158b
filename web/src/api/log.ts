/**
 * What workers print, read again and again from where one was. It is not streamed, because a browser has only six
 * connections to a server for all its tabs.
 */

import { pageHalf } from "../session/session";
import { UNREACHED } from "./client";

/** What is read at first of all ranks together, from the end. */
const TAIL_BYTES = 400_000;
const PART_BYTES = 256 * 1024;
/** Requests under way at once. */
const AT_ONCE = 3;
const PAUSE_MS = 1000;
/** With many ranks pauses are longer, so that there are never more requests in a second than this makes. */
const PAUSE_PER_RANK_MS = 125;
const HIDDEN_MS = 5000;

export type Printed = { rank: number; text: string };

type Reader = {
  onPrinted: (parts: Printed[]) => void;
  onProblem: (problem: string) => void;
  /** Of a rank this many bytes stand before what is read. */
  onSkipped: (bytes: number) => void;
  /** Everything was read, and nothing more will come. */
  onComplete: () => void;
};

type Place = { rank: number; offset: number; decoder: TextDecoder; isComplete: boolean };

/** Read what these ranks print until the returned function is called. */
export function followLogs(job: string, attempt: number, ranks: number[], reader: Reader): () => void {
  const ended = new AbortController();
  const tail = Math.floor(TAIL_BYTES / ranks.length);
  const places = ranks.map((rank) => ({ rank, offset: -tail, decoder: new TextDecoder(), isComplete: false }));
  void keepReading(`/v1/jobs/${encodeURIComponent(job)}/logs?attempt=${attempt}`, places, reader, ended.signal);
  return () => {
    ended.abort();
  };
}

async function keepReading(url: string, places: Place[], reader: Reader, ended: AbortSignal): Promise<void> {
  while (!isOver(ended)) {
    const open = places.filter((place) => !place.isComplete);
    const parts = await round(url, open, reader, ended);
    if (parts.length > 0 && !isOver(ended)) {
      reader.onPrinted(parts);
    }
    if (places.every((place) => place.isComplete) && !isOver(ended)) {
      reader.onComplete();
      return;
    }
    const pause = Math.max(PAUSE_MS, open.length * PAUSE_PER_RANK_MS);
    await new Promise((resolve) => setTimeout(resolve, document.hidden ? HIDDEN_MS : pause));
  }
}

function isOver(ended: AbortSignal): boolean {
  return ended.aborted;
}

/** One look at every rank, a few at a time. */
async function round(url: string, open: Place[], reader: Reader, ended: AbortSignal): Promise<Printed[]> {
  const parts: Printed[] = [];
  const left = open.values();
  const work = async () => {
    for (const place of left) {
      const text = await newText(url, place, reader, ended);
      if (text) {
        parts.push({ rank: place.rank, text });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return parts;
}

async function newText(url: string, place: Place, reader: Reader, ended: AbortSignal): Promise<string> {
  try {
    const answer = await fetch(`${url}&rank=${place.rank}&offset=${place.offset}&limit=${PART_BYTES}`, {
      headers: { "X-Muster-Page": pageHalf() },
      signal: ended,
    });
    if (!answer.ok) {
      reader.onProblem(await problemOf(answer));
      return "";
    }
    const bytes = await answer.arrayBuffer();
    reader.onProblem("");
    const end = Number(answer.headers.get("Muster-Log-End"));
    if (place.offset < 0 && end > bytes.byteLength) {
      reader.onSkipped(end - bytes.byteLength);
    }
    place.offset = end;
    place.isComplete = answer.headers.get("Muster-Log-Complete") === "true";
    return place.decoder.decode(bytes, { stream: !place.isComplete });
  } catch {
    // The connection may be lost for a while. The next look goes on where this one was.
    return "";
  }
}

/** What the server said instead of a log. */
async function problemOf(answer: Response): Promise<string> {
  const said = (await answer.json().catch(() => ({}))) as { detail?: string };
  return said.detail ?? answer.statusText;
}

/** As much of a log as a browser should be asked to save. */
const SAVED_BYTES = 256 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;

/** All that one rank has printed, to be saved as a file: the whole of it, or an error that says why not. */
export async function wholeLog(job: string, attempt: number, rank: number): Promise<Blob> {
  const parts: ArrayBuffer[] = [];
  let offset = 0;
  let size = 0;
  for (;;) {
    const { part, end } = await partFrom(job, attempt, rank, offset);
    if (part.byteLength === 0) {
      return new Blob(parts, { type: "text/plain" });
    }
    size += part.byteLength;
    if (size > SAVED_BYTES) {
      throw new Error(tooLarge(job, attempt, rank));
    }
    parts.push(part);
    offset = end;
  }
}

/** One part of what a rank has printed. It is empty where the log ends. */
async function partFrom(job: string, attempt: number, rank: number, offset: number): Promise<{ part: ArrayBuffer; end: number }> {
  const query = `attempt=${attempt}&rank=${rank}&offset=${offset}&limit=${READ_BYTES}`;
  const url = `/v1/jobs/${encodeURIComponent(job)}/logs?${query}`;
  const answer = await fetch(url, { headers: { "X-Muster-Page": pageHalf() } }).catch(() => {
    throw new Error(UNREACHED);
  });
  if (!answer.ok) {
    throw new Error(await problemOf(answer));
  }
  return { part: await answer.arrayBuffer(), end: Number(answer.headers.get("Muster-Log-End")) };
}

function tooLarge(job: string, attempt: number, rank: number): string {
  const command = `muster logs ${job} --attempt ${attempt} --rank ${rank} > ${job}-${attempt}-${rank}.log`;
  return `The log is larger than ${SAVED_BYTES / 1024 / 1024} MiB, too large for a browser to save. This saves it: ${command}`;
}
