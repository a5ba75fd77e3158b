import { type ReactNode, useRef, useState } from "react";
import { createPortal } from "react-dom";

import { declaredKeys, type Key, useKeys } from "./keys";

type Shown = { here: Key[]; everywhere: Key[] };

/** The keys of this page, behind `?` and behind a button. A native dialog keeps the focus and gives it back. */
export function Help(): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [shown, setShown] = useState<Shown>({ here: [], everywhere: [] });
  const open = () => {
    setShown({ here: declaredKeys("here"), everywhere: declaredKeys("everywhere") });
    dialog.current?.showModal();
  };
  useKeys([{ press: "?", does: "this help", act: open }], "everywhere");
  return (
    <>
      <button onClick={open}>
        Keys <kbd>?</kbd>
      </button>
      {/* Not in here: on a phone this is hidden until the menu is opened, and everything in it. */}
      {createPortal(
        <dialog ref={dialog} className="help" aria-labelledby="help-title">
          <form method="dialog" className="row apart">
            <h2 id="help-title">Keys</h2>
            <button>Close</button>
          </form>
          <KeyList title="On this page" keys={shown.here} />
          <KeyList title="Everywhere" keys={shown.everywhere} />
        </dialog>,
        document.body,
      )}
    </>
  );
}

function KeyList({ title, keys }: { title: string; keys: Key[] }) {
  if (keys.length === 0) {
    return null;
  }
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl className="keys">
        {keys.map((key) => (
          <div key={key.press}>
            <dt>
              {key.press.split(" ").map((each) => (
                <kbd key={each}>{each}</kbd>
              ))}
            </dt>
            <dd>{key.does}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
