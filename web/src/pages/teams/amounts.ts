import type { Team } from "../../api/client";
import { gpus } from "../../words/amounts";

/** "16 h100, 8 a100". The sum over all types is left out where the types are named. */
export function amounts(byType: Record<string, number>): string {
  const types = Object.entries(byType);
  const named = types.filter(([type]) => type !== "*" && type !== "");
  const shown = named.length > 0 ? named : types.filter(([type]) => type === "*");
  return shown.map(([type, count]) => `${gpus(count)} ${type === "*" ? "GPUs" : type}`).join(", ") || "–";
}

/** How much of what a team is guaranteed it uses. What it borrows of a type fills no guarantee of another. */
export function covered(team: Team): { part: number; whole: number } {
  const types = Object.entries(team.guaranteed);
  return {
    part: types.reduce((sum, [type, count]) => sum + Math.min(team.used[type] ?? 0, count), 0),
    whole: types.reduce((sum, [, count]) => sum + count, 0),
  };
}

/** Their places by share, which is how it is shown: those with the same share have the same place. */
export function places(teams: readonly Team[]): number[] {
  const shares = teams.map((team) => gpus(team.share));
  return shares.map((share) => shares.indexOf(share) + 1);
}

/** The teams that compete with each other, those with the same team above them, the lowest share first. */
export function rivals(teams: Team[]): { above: string; teams: Team[] }[] {
  const found = new Map<string, Team[]>();
  for (const team of teams) {
    const above = team.path.split("/").slice(0, -1).join("/");
    found.set(above, [...(found.get(above) ?? []), team]);
  }
  return [...found]
    .filter(([, inside]) => inside.length > 1)
    .map(([above, inside]) => ({ above, teams: [...inside].sort((one, other) => one.share - other.share) }));
}
