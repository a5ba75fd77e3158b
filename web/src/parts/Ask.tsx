import { type ReactNode, useEffect, useRef } from "react";

import "./ask.css";

type Asking = {
  title: string;
  /** What the button says that does it. */
  verb: string;
  isPending?: boolean;
  problem?: string | undefined;
  /** What is done cannot be undone, so that the other button has the focus. */
  isFinal?: boolean;
  onYes: () => void;
  onClose: () => void;
  children: ReactNode;
};

/** A question before something is changed. Escape and the button beside say no. */
export function Ask({ title, verb, isPending = false, problem, isFinal = false, onYes, onClose, children }: Asking) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className="ask" aria-label={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onYes();
        }}
      >
        <h2>{title}</h2>
        {children}
        {problem && (
          <p className="tone-bad" role="alert">
            {problem}
          </p>
        )}
        <div className="row">
          <button type="submit" className={isFinal ? "danger" : "primary"} disabled={isPending}>
            {verb}
          </button>
          <button type="button" autoFocus={isFinal} onClick={onClose}>
            Leave it
          </button>
        </div>
      </form>
    </dialog>
  );
}
