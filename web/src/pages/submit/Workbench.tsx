import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef } from "react";

import { requestKey } from "../../api/requestKey";
import { useSettled } from "../../parts/useSettled";
import { forgetDraft } from "../../session/draft";
import { Editor } from "./Editor";
import { Form } from "./Form";
import { Outcome } from "./Outcome";
import { submit, submitQueries } from "./queries";
import "./submit.css";
import { type Begun, useDraft } from "./useDraft";

/** The form, the text, and what the server says of them. */
export function Workbench(begun: Begun) {
  const { draft, isRestored, write, discard } = useDraft(begun);
  const { text } = draft;
  const setText = (changed: string) => {
    write({ text: changed });
  };
  const settled = useSettled(text);
  const checked = useQuery({ ...submitQueries.checked(settled), placeholderData: (before) => before });
  const schema = useQuery(submitQueries.schema());
  const isStale = settled !== text || checked.isPlaceholderData;
  const problem = isStale ? undefined : checked.data?.problem;
  return (
    <div className="workbench">
      {isRestored && <Restored onDiscard={discard} />}
      <section className="sheet" aria-label="Form">
        <h2>Form</h2>
        <Form text={text} onText={setText} />
      </section>
      <section className="sheet" aria-label="Text">
        <h2>Job file</h2>
        <Editor text={text} errors={problem?.fields ?? NONE} schema={schema.data} onText={setText} />
      </section>
      <div className="answer">
        <Outcome checked={checked.data} failure={checked.data ? null : checked.error} isStale={isStale} />
        <Submit
          text={text}
          held={draft.held}
          onHeld={(held) => {
            write({ held });
          }}
        />
      </div>
    </div>
  );
}

const NONE: never[] = [];

function Restored({ onDiscard }: { onDiscard: () => void }) {
  return (
    <p className="notice row restored" role="status">
      This is what you were writing here before.
      <button onClick={onDiscard}>Begin anew</button>
    </p>
  );
}

type Sent = { text: string; held: boolean; onHeld: (held: boolean) => void };

function Submit({ text, held, onHeld }: Sent) {
  const navigate = useNavigate();
  // One key for one text: who presses twice, or again after a lost connection, submits one job.
  const key = useRef({ of: "", key: "" });
  const sending = useMutation({
    mutationFn: () => {
      const what = `${String(held)} ${text}`;
      if (key.current.of !== what) {
        key.current = { of: what, key: requestKey() };
      }
      return submit(text, key.current.key, held);
    },
    onSuccess: (job) => {
      forgetDraft();
      return navigate({ to: "/jobs/$job", params: { job: job.id } });
    },
  });
  return (
    <section className="sheet submit-bar" aria-label="Submit">
      <button
        className="primary"
        disabled={sending.isPending || sending.isSuccess}
        onClick={() => {
          sending.mutate();
        }}
      >
        {sending.isPending ? "Submitting…" : "Submit"}
      </button>
      <label className="row">
        <input
          type="checkbox"
          checked={held}
          onChange={(event) => {
            onHeld(event.target.checked);
          }}
        />
        Hold it until it is released
      </label>
      {sending.error && (
        <p className="tone-bad" role="alert">
          {sending.error.message}
        </p>
      )}
    </section>
  );
}
