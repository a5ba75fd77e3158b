import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { api, body } from "../../api/client";
import { queries } from "../../api/queries";
import { Choice } from "../../parts/Choice";
import { inWords } from "../../words/states";
import { amounts } from "../teams/amounts";
import { asked, kinds, type Question, UNCHANGED } from "./question";
import { whatIfQueries } from "./queries";

type AskOf = { policies: readonly { name: string; summary: string }[]; onStarted: (run: string) => void };

/** What would be otherwise. What is left empty is as today. */
export function Ask({ policies, onStarted }: AskOf) {
  const client = useQueryClient();
  const [question, setQuestion] = useState(UNCHANGED);
  const change = (changed: Partial<Question>) => {
    setQuestion({ ...question, ...changed });
  };
  const start = useMutation({
    mutationFn: async () => body(await api.POST("/v1/what-if", { body: asked(question) })),
    onSuccess: (run) => {
      onStarted(run.id);
      return client.invalidateQueries({ queryKey: ["what-if"] });
    },
  });
  return (
    <form
      className="sheet what-if-form"
      aria-label="Question"
      onSubmit={(event) => {
        event.preventDefault();
        start.mutate();
      }}
    >
      <Group title="Which jobs">
        <Choice
          label="Which jobs"
          value={question.origin}
          options={["history", "present"] as const}
          shown={(each) => (each === "history" ? "those of the last days" : "those that run and wait now")}
          onChoose={(origin) => {
            change({ origin });
          }}
        />
        {question.origin === "history" && (
          <Amount label="Days" value={question.days} now="7" onValue={(days) => { change({ days }); }} />
        )}
      </Group>
      <Group title="Policy">
        <Choice
          label="Policy"
          value={question.policy}
          options={["", ...policies.map((each) => each.name)]}
          shown={(name) => (name === "" ? "as today" : name)}
          onChoose={(policy) => {
            change({ policy });
          }}
        />
        <span className="soft small">{policies.find((each) => each.name === question.policy)?.summary}</span>
      </Group>
      <Settings question={question} onChange={change} />
      <Machines question={question} onChange={change} />
      <Quotas question={question} onChange={change} />
      <div className="row">
        <button className="primary" disabled={start.isPending}>
          Simulate
        </button>
        {start.error && (
          <span className="tone-bad" role="alert">
            {start.error.message}
          </span>
        )}
      </div>
    </form>
  );
}

type PartOf = { question: Question; onChange: (changed: Partial<Question>) => void };

function Settings({ question, onChange }: PartOf) {
  const policy = useQuery(whatIfQueries.policy()).data ?? {};
  const simple = Object.entries(policy).filter(([, value]) => typeof value !== "object");
  return (
    <details>
      <summary>Settings of the policy</summary>
      <div className="what-if-amounts">
        {simple.map(([name, value]) => (
          <Amount
            key={name}
            label={inWords(name)}
            now={String(value)}
            value={question.settings[name] ?? ""}
            onValue={(given) => {
              onChange({ settings: { ...question.settings, [name]: given } });
            }}
          />
        ))}
      </div>
    </details>
  );
}

function Machines({ question, onChange }: PartOf) {
  const nodes = useQuery(queries.nodes()).data ?? [];
  return (
    <details open>
      <summary>Nodes</summary>
      <div className="what-if-amounts">
        {kinds(nodes).map((kind) => (
          <Amount
            key={kind.like}
            label={`with ${kind.words}`}
            now={String(kind.count)}
            least={0}
            value={question.nodes[kind.like] ?? ""}
            onValue={(count) => {
              onChange({ nodes: { ...question.nodes, [kind.like]: count } });
            }}
          />
        ))}
      </div>
    </details>
  );
}

function Quotas({ question, onChange }: PartOf) {
  const teams = useQuery(queries.teams()).data ?? [];
  return (
    <details>
      <summary>Guaranteed GPUs</summary>
      <div className="what-if-amounts">
        {teams.map((team) => (
          <Amount
            key={team.path}
            label={team.path}
            now={amounts(team.guaranteed)}
            least={0}
            value={question.guaranteed[team.path] ?? ""}
            onValue={(amount) => {
              onChange({ guaranteed: { ...question.guaranteed, [team.path]: amount } });
            }}
          />
        ))}
      </div>
    </details>
  );
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="what-if-group">
      <span className="what-if-title">{title}</span>
      {children}
    </div>
  );
}

type AmountOf = { label: string; value: string; now: string; least?: number; onValue: (value: string) => void };

/** A value to be tried, a number where there is a least one. The present one is shown while it is empty. */
function Amount({ label, value, now, least, onValue }: AmountOf) {
  return (
    <label>
      {label}
      <input
        {...(least !== undefined && { type: "number", min: least, step: "any" })}
        value={value}
        placeholder={now}
        onChange={(event) => {
          onValue(event.target.value);
        }}
      />
    </label>
  );
}
