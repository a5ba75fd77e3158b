/** What is highlighted on the map: a part of a name as somebody types it, or one job exactly. */

import type { Seat } from "./placement";

const EXACTLY = "=";

/** Seek one job, and not those whose ids begin like its own. */
export function onlyJob(job: string): string {
  return `${EXACTLY}${job}`;
}

export function isSoughtNode(node: string, sought: string): boolean {
  return sought !== "" && node.toLowerCase().includes(sought);
}

export function isSoughtSeat(seat: Seat, sought: string): boolean {
  if (sought.startsWith(EXACTLY)) {
    return seat.job === sought.slice(EXACTLY.length);
  }
  return sought !== "" && `${seat.name} ${seat.job} ${seat.team}`.toLowerCase().includes(sought);
}
