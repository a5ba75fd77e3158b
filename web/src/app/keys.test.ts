import { beforeEach, expect, test, vi } from "vitest";

/** An element as far as keys look at one; there is no document here. */
class Thing {
  constructor(private readonly kinds: string[]) {}
  matches(selector: string): boolean {
    return selector.split(", ").some((each) => this.kinds.includes(each));
  }
}
vi.stubGlobal("Element", Thing);
vi.mock("react", () => ({ useRef: (current: unknown) => ({ current }), useEffect: (act: () => void) => { act(); } }));

const { listening, useKeys: declare } = await import("./keys");

const act = vi.fn();
declare([{ press: "j", does: "the next", act }, { press: "Enter", does: "open", act }], "everywhere");

function pressed(key: string, path: Thing[]): KeyboardEvent {
  const composedPath = () => [...path, {}];
  return { key, timeStamp: 0, composedPath, target: path.at(-1), preventDefault: vi.fn() } as unknown as KeyboardEvent;
}

beforeEach(() => {
  act.mockClear();
});

const host = new Thing(["div"]);

test("a key acts when nobody types", () => {
  listening()(pressed("j", [host]));
  expect(act).toHaveBeenCalledOnce();
});

test("a key that is typed into a field belongs to it", () => {
  listening()(pressed("j", [new Thing(["textarea"]), host]));
  expect(act).not.toHaveBeenCalled();
});

test("a key that is typed into the editor belongs to it, though the editor is in a shadow tree", () => {
  const line = new Thing(["div"]);
  const editor = new Thing(["[contenteditable]"]);
  listening()(pressed("j", [line, editor, host]));
  expect(act).not.toHaveBeenCalled();
});

test("a button that has the focus is pressed with Enter, and not with other keys", () => {
  const button = new Thing(["button"]);
  listening()(pressed("Enter", [new Thing(["span"]), button, host]));
  expect(act).not.toHaveBeenCalled();
  listening()(pressed("j", [button, host]));
  expect(act).toHaveBeenCalledOnce();
});
