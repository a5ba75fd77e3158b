import { describe, expect, it } from "vitest";

import { allLines, cut, EMPTY_BOOK, places, shown, written } from "./logBook";

const texts = (book: typeof EMPTY_BOOK) => allLines(book).map((line) => `${line.rank} ${line.text}`);

describe("a book of lines", () => {
  it("waits for the end of a line and shows what there is of it", () => {
    const begun = written(EMPTY_BOOK, [{ rank: 0, text: "one\ntw" }]);
    expect(texts(begun)).toEqual(["0 one", "0 tw"]);
    const ended = written(begun, [{ rank: 0, text: "o\n" }]);
    expect(texts(ended)).toEqual(["0 one", "0 two"]);
    expect(ended.lines.map((line) => line.number)).toEqual([0, 1]);
  });

  it("interleaves ranks evenly, with what each printed in its own order", () => {
    const book = written(EMPTY_BOOK, [
      { rank: 1, text: "x\ny\n" },
      { rank: 0, text: "a\nb\nc\nd\n" },
    ]);
    expect(texts(book)).toEqual(["0 a", "0 b", "1 x", "0 c", "0 d", "1 y"]);
  });

  it("keeps the newest of very many, and their numbers", () => {
    const book = written(EMPTY_BOOK, [{ rank: 0, text: "line\n".repeat(20_005) }]);
    expect([book.lines.length, book.dropped, book.lines[0]?.number]).toEqual([20_000, 5, 5]);
  });
});

describe("a line", () => {
  it("is shown as a terminal leaves it", () => {
    expect(shown("\u001b[31mred\u001b[0m\u0007")).toBe("red");
    expect(shown("10 %\r50 %\r100 %\r")).toBe("100 %");
    expect(shown("\u001b]0;title\u0007text")).toBe("text");
    expect(shown("\u202elive")).toBe("\\u202elive");
  });

  it("is cut when it is endless", () => {
    expect(shown("x".repeat(5000))).toBe(`${"x".repeat(4000)} … 1,000 more`);
  });

  it("is the same when it comes in parts, whether it is ended or not", () => {
    const parts = ["x".repeat(3000), "y".repeat(300_000), "z".repeat(700_000)];
    const cut = `0 ${"x".repeat(3000)}${"y".repeat(1000)} … 999,000 more`;
    const begun = parts.reduce((book, text) => written(book, [{ rank: 0, text }]), EMPTY_BOOK);
    expect(texts(begun)).toEqual([cut]);
    expect(texts(written(begun, [{ rank: 0, text: "\nnext\n" }]))).toEqual([cut, "0 next"]);
  });

  it("that is written over again and again is as it was written last, however long that goes on", () => {
    const bars = Array.from({ length: 100 }, (_, done) => `\r${"#".repeat(100)} ${done} %`);
    const book = bars.reduce((before, text) => written(before, [{ rank: 0, text }]), EMPTY_BOOK);
    expect(texts(book)).toEqual([`0 ${"#".repeat(100)} 99 %`]);
    const endless = written(written(EMPTY_BOOK, [{ rank: 0, text: "x".repeat(9000) }]), [{ rank: 0, text: "\rdone\r" }]);
    expect(texts(endless)).toEqual(["0 done"]);
  });
});

describe("searching", () => {
  it("finds lines whatever their case, and nothing for nothing", () => {
    const { lines } = written(EMPTY_BOOK, [{ rank: 0, text: "Loss 1\nother\nLOSS 2\n" }]);
    expect(places(lines, "loss")).toEqual([0, 2]);
    expect(places(lines, "")).toEqual([]);
  });

  it("cuts a text so that every second part is what was looked for", () => {
    expect(cut("a Bb b", "b")).toEqual(["a ", "B", "", "b", " ", "b", ""]);
    expect(cut("<b>", "")).toEqual(["<b>"]);
  });
});
