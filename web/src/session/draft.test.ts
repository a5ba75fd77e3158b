import { beforeEach, expect, test, vi } from "vitest";

import { draftOf, forgetDraftOfOthers, keepDraft, LONGEST_DRAFT } from "./draft";
import { signOut, watchOtherTabs } from "./session";

function storage() {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
}

const DRAFT = { text: "name: a\n", from: "", held: true };

beforeEach(() => {
  vi.stubGlobal("sessionStorage", storage());
  vi.stubGlobal("localStorage", storage());
  vi.stubGlobal("fetch", () => Promise.resolve());
  vi.stubGlobal("window", new EventTarget());
});

test("a draft is there for who wrote it, where it was written", () => {
  keepDraft("ada", DRAFT);
  expect(draftOf("ada", "")).toMatchObject(DRAFT);
  expect(draftOf("ada", "job-1")).toBeUndefined();
  expect(draftOf("bob", "")).toBeUndefined();
});

test("a draft is forgotten when somebody else signs in, and stays for the same user", () => {
  keepDraft("ada", DRAFT);
  forgetDraftOfOthers("ada");
  expect(draftOf("ada", "")).toBeDefined();
  forgetDraftOfOthers("bob");
  expect(draftOf("ada", "")).toBeUndefined();
});

test("a draft is forgotten when one signs out", async () => {
  keepDraft("ada", DRAFT);
  await signOut();
  expect(draftOf("ada", "")).toBeUndefined();
});

test("a draft is forgotten when one signs out in another tab, and not when the session ends there", () => {
  const heard = vi.fn();
  watchOtherTabs(heard);
  const changed = (newValue: string | null) => {
    window.dispatchEvent(Object.assign(new Event("storage"), { key: "muster.page", newValue }));
  };
  keepDraft("ada", DRAFT);
  changed(null);
  expect(draftOf("ada", "")).toBeDefined();
  changed("");
  expect(draftOf("ada", "")).toBeUndefined();
  expect(heard).toHaveBeenCalledTimes(2);
});

test("of a text that is too long nothing is kept, nor of what was there before it", () => {
  keepDraft("ada", DRAFT);
  keepDraft("ada", { ...DRAFT, text: "a".repeat(LONGEST_DRAFT + 1) });
  expect(draftOf("ada", "")).toBeUndefined();
});

test("what is stored and no draft is none", () => {
  sessionStorage.setItem("muster.draft", "{");
  expect(draftOf("ada", "")).toBeUndefined();
});
