import { describe, expect, it } from "vitest";

import { options, pathAt, type Schema } from "./completion";

const SCHEMA: Schema = {
  properties: {
    name: { description: "What people call it." },
    exclusive: { type: "boolean" },
    launch: { enum: ["plain", "torchrun"] },
    resources: { properties: { gpus: { description: "Whole GPUs." } } },
  },
};

describe("completion in a job file", () => {
  it("finds the keys around a line", () => {
    const lines = ["name: a", "resources: # each", "  gpus: 8", "  "];
    expect(pathAt(lines, 3)).toEqual(["resources"]);
    expect(pathAt(lines, 0)).toEqual([]);
  });

  it("offers the keys of that place with what they mean", () => {
    expect(options(SCHEMA, ["resources"])).toEqual([{ label: "gpus", info: "Whole GPUs." }]);
    expect(options(SCHEMA, []).map((each) => each.label)).toEqual(["name", "exclusive", "launch", "resources"]);
    expect(options(SCHEMA, ["nothing"])).toEqual([]);
  });

  it("offers the words that a key may have", () => {
    expect(options(SCHEMA, [], "launch").map((each) => each.label)).toEqual(["plain", "torchrun"]);
    expect(options(SCHEMA, [], "exclusive").map((each) => each.label)).toEqual(["true", "false"]);
    expect(options(SCHEMA, [], "name")).toEqual([]);
  });
});
