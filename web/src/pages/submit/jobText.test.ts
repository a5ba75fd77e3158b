import { describe, expect, it } from "vitest";

import { blank, changedAt, isEditable, ownTeam, shownAt } from "./jobText";

const BLANK = blank("default");

const FILE = `# A run for the paper.
name: train # shown in lists
resources:
  gpus: 8
  gpu_type: [h100, a100]
unknown_key: {kept: true}
run: |
  python train.py
  echo done
`;

describe("the form and the text are one document", () => {
  it("shows what the text says", () => {
    expect(shownAt(FILE, ["name"])).toBe("train");
    expect(shownAt(FILE, ["resources", "gpus"])).toBe("8");
    expect(shownAt(FILE, ["resources", "gpu_type"])).toBe("h100, a100");
    expect(shownAt(FILE, ["run"])).toBe("python train.py\necho done");
    expect(shownAt(FILE, ["team"])).toBe("");
  });

  it("changes one value and keeps comments, order and unknown keys", () => {
    expect(changedAt(FILE, ["resources", "gpus"], "4")).toBe(FILE.replace("gpus: 8", "gpus: 4"));
    expect(changedAt(FILE, ["name"], "tune")).toBe(FILE.replace("name: train", "name: tune"));
  });

  it("adds a key, also one level down", () => {
    expect(shownAt(changedAt(FILE, ["team"], "nlp"), ["team"])).toBe("nlp");
    expect(shownAt(changedAt("", ["checkpoint", "path"], "saves"), ["checkpoint", "path"])).toBe("saves");
  });

  it("takes an empty value away, and its parent with it", () => {
    const saved = changedAt(BLANK, ["checkpoint", "path"], "saves");
    expect(changedAt(saved, ["checkpoint", "path"], "")).toBe(changedAt(BLANK, ["team"], "default"));
    expect(changedAt(FILE, ["resources", "gpus"], "")).toContain("gpu_type");
  });

  it("writes numbers as numbers and elastic sizes as text", () => {
    expect(changedAt(BLANK, ["workers"], "4")).toContain("workers: 4\n");
    expect(changedAt(BLANK, ["workers"], "4..8")).toContain("workers: 4..8\n");
  });

  it("writes one type of GPU as it is and several as a list", () => {
    expect(changedAt(BLANK, ["resources", "gpu_type"], "h100", "list")).toContain("gpu_type: h100");
    expect(shownAt(changedAt(BLANK, ["resources", "gpu_type"], "h100, a100", "list"), ["resources", "gpu_type"])).toBe(
      "h100, a100",
    );
  });

  it("leaves a text alone that cannot be read", () => {
    expect(isEditable("name: [")).toBe(false);
    expect(changedAt("name: [", ["name"], "x")).toBe("name: [");
    expect(isEditable("- a\n- b")).toBe(false);
    expect(isEditable("")).toBe(true);
  });
});

describe("a new job", () => {
  it("is one of the first team in which one has a role", () => {
    expect(ownTeam([{ team: "*" }, { team: "language/evaluation" }, { team: "vision" }])).toBe("language/evaluation");
    expect(ownTeam([{ team: "*" }])).toBe("default");
    expect(shownAt(blank("vision"), ["team"])).toBe("vision");
  });
});
