import { useMemo } from "react";

import type { Job } from "../../api/client";
import { Choice } from "../../parts/Choice";
import { inWords, isEndState, JOB_STATES } from "../../words/states";
import { type JobFilters, valuesOf } from "./filters";

const STATES = [
  "active",
  ...JOB_STATES.filter((state) => !isEndState(state)),
  "ended",
  ...JOB_STATES.filter((state) => isEndState(state)),
];

type Bar = { jobs: Job[]; filters: JobFilters; onChange: (changed: JobFilters) => void };

/** What narrows the list down. What one can choose from is what there is. */
export function FilterBar({ jobs, filters, onChange }: Bar) {
  const teams = useMemo(() => valuesOf(jobs, (job) => job.team), [jobs]);
  const users = useMemo(() => valuesOf(jobs, (job) => job.user), [jobs]);
  const tiers = useMemo(() => valuesOf(jobs, (job) => job.tier), [jobs]);
  return (
    <>
      <input
        type="search"
        aria-label="Search"
        placeholder="name, id, user, tag  ( / )"
        value={filters.text ?? ""}
        onChange={(event) => {
          onChange({ text: event.target.value || undefined });
        }}
      />
      <Choice
        label="State"
        value={filters.state ?? "active"}
        options={STATES}
        shown={(state) => (state === "active" ? "all active" : state === "ended" ? "all ended" : inWords(state))}
        onChoose={(state) => {
          onChange({ state: state === "active" ? undefined : state });
        }}
      />
      <OneOf name="team" value={filters.team} options={teams} onChoose={(team) => { onChange({ team }); }} />
      <OneOf name="user" value={filters.user} options={users} onChoose={(user) => { onChange({ user }); }} />
      <OneOf name="tier" value={filters.tier} options={tiers} onChoose={(tier) => { onChange({ tier }); }} />
    </>
  );
}

type One = { name: string; value: string | undefined; options: string[]; onChoose: (value: string | undefined) => void };

function OneOf({ name, value, options, onChoose }: One) {
  const known = value === undefined || options.includes(value) ? options : [value, ...options];
  return (
    <Choice
      label={`Of which ${name}`}
      value={value ?? ""}
      options={["", ...known]}
      shown={(each) => each || `any ${name}`}
      onChoose={(each) => {
        onChoose(each || undefined);
      }}
    />
  );
}
