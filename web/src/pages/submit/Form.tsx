import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";

import { queries } from "../../api/queries";
import { changedAt, isEditable, type Path, shownAt } from "./jobText";
import { submitQueries } from "./queries";

type Field = { label: string; path: Path; hint?: string; kind?: "list" | "lines" | "wide"; known?: keyof Known };

/** Names that this server knows, offered where one types. */
type Known = { teams: string[]; tiers: string[]; types: string[]; profiles: string[]; engines: string[] };

const FIELDS: Field[] = [
  { label: "Name", path: ["name"] },
  { label: "Team", path: ["team"], known: "teams" },
  { label: "Tier", path: ["tier"], known: "tiers", hint: "standard" },
  { label: "Priority", path: ["priority"], hint: "0 to 100" },
  { label: "Profile", path: ["profile"], known: "profiles", hint: "none" },
  { label: "Workers", path: ["workers"], hint: "4, or 4..8" },
  { label: "GPUs of each worker", path: ["resources", "gpus"], hint: "8, or 0.25" },
  { label: "GPU types", path: ["resources", "gpu_type"], kind: "list", known: "types", hint: "any" },
  { label: "CPUs of each worker", path: ["resources", "cpus"], hint: "16" },
  { label: "Memory of each worker", path: ["resources", "memory"], hint: "64GiB" },
  { label: "Image", path: ["image"], kind: "wide", hint: "none" },
  { label: "Engine", path: ["engine"], known: "engines", hint: "any" },
  { label: "At most for", path: ["max_duration"], hint: "12h" },
  { label: "Expected to take", path: ["expected_duration"], hint: "10h" },
  { label: "Checkpoints in", path: ["checkpoint", "path"], hint: "a folder" },
  { label: "All workers within one", path: ["topology", "within"], hint: "rack" },
  { label: "Rather within one", path: ["topology", "prefer"], hint: "rack" },
  { label: "Started with", path: ["launch"], hint: "plain" },
  { label: "Working folder", path: ["workdir"], hint: "an absolute path" },
  { label: "Command", path: ["run"], kind: "lines" },
];

/** Some values of the job file. What else is in it stays. */
export function Form({ text, onText }: { text: string; onText: (text: string) => void }) {
  const [isUsed, setUsed] = useState(false);
  const known = useKnown(isUsed);
  const canEdit = isEditable(text);
  return (
    <fieldset
      className="job-form"
      disabled={!canEdit}
      onFocus={() => {
        setUsed(true);
      }}
    >
      <legend className="soft small">
        {canEdit ? "A field that is empty keeps its default." : "The text cannot be read as YAML. Repair it there first."}
      </legend>
      {FIELDS.map((field) => (
        <Input
          key={field.label}
          field={field}
          known={field.known === undefined ? [] : known[field.known]}
          value={shownAt(text, field.path)}
          onValue={(value) => {
            onText(changedAt(text, field.path, value, field.kind === "list" ? "list" : "text"));
          }}
        />
      ))}
    </fieldset>
  );
}

type InputOf = { field: Field; known: string[]; value: string; onValue: (value: string) => void };

function Input({ field, known, value, onValue }: InputOf) {
  const id = useId();
  // While somebody types, their own spelling is shown: "h100, " is on its way to a list.
  const [typed, setTyped] = useState<string>();
  const events = {
    value: typed ?? value,
    onChange: (event: { target: { value: string } }) => {
      setTyped(event.target.value);
      onValue(event.target.value);
    },
    onBlur: () => {
      setTyped(undefined);
    },
  };
  return (
    <label className={field.kind === "lines" || field.kind === "wide" ? "whole" : ""}>
      {field.label}
      {field.kind === "lines" ? (
        <textarea rows={4} spellCheck={false} {...events} />
      ) : (
        <input placeholder={field.hint} spellCheck={false} list={known.length > 0 ? id : undefined} {...events} />
      )}
      {known.length > 0 && (
        <datalist id={id}>
          {known.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </label>
  );
}

/** The names that this server knows. Those that few forms need are asked for once somebody writes into the form. */
function useKnown(isUsed: boolean): Known {
  const teams = useQuery(queries.teams()).data ?? [];
  const tiers = useQuery(submitQueries.tiers()).data ?? [];
  const nodes = useQuery(queries.nodes()).data ?? [];
  const profiles = useQuery({ ...submitQueries.profiles(), enabled: isUsed }).data ?? {};
  return {
    teams: teams.map((team) => team.path),
    tiers: tiers.map((tier) => tier.name),
    types: distinct(nodes.map((node) => node.gpu_type)),
    profiles: Object.keys(profiles),
    engines: distinct(nodes.map((node) => node.engine)),
  };
}

function distinct(names: readonly (string | null)[]): string[] {
  return [...new Set(names.filter((name) => name !== null && name !== ""))] as string[];
}
