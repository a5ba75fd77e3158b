import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";

import { queries } from "../api/queries";
import { forgetDraftOfOthers } from "../session/draft";
import { isSignedIn, signOut, watchOtherTabs } from "../session/session";
import { Help } from "./Help";
import { useKeyboard, useKeys } from "./keys";
import { Live } from "./Live";
import { PLACES, titleOf } from "./places";
import { turnTheme, useTheme } from "./theme";
import { Updated } from "./Updated";

/** What is around every page: where one can go, who one is, and whether what one sees is live. */
export function Frame(): ReactNode {
  const place = useLocation();
  useKeyboard();
  useKeysOfEveryPage();
  useSignedOut();
  return (
    <div className="frame">
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <Side path={place.pathname} />
      <Main path={place.pathname} />
    </div>
  );
}

/** The pages to go to. On a phone they are behind a button, and gone again once one was chosen. */
function Side({ path }: { path: string }) {
  const [openAt, setOpenAt] = useState<string>();
  const isOpen = openAt === path;
  return (
    <header className={isOpen ? "side open" : "side"}>
      <div className="top">
        <span className="name">Muster</span>
        <Live />
        <button
          className="menu"
          aria-expanded={isOpen}
          aria-controls="places"
          onClick={() => {
            setOpenAt(isOpen ? undefined : path);
          }}
        >
          Menu
        </button>
      </div>
      <nav id="places" aria-label="Pages">
        {PLACES.map(({ to, name }) => (
          <Link key={to} to={to} className="place" activeOptions={{ exact: to === "/" }}>
            {name}
          </Link>
        ))}
      </nav>
      <div className="foot">
        <Who />
      </div>
    </header>
  );
}

/** The page itself. After a change of pages the keyboard goes on here, and not in the menu. */
function Main({ path }: { path: string }) {
  const place = useRef<HTMLElement>(null);
  const before = useRef(path);
  useEffect(() => {
    document.title = titleOf(path);
    if (before.current !== path && place.current?.contains(document.activeElement) === false) {
      place.current.focus();
    }
    before.current = path;
  }, [path]);
  return (
    <main id="page" tabIndex={-1} ref={place}>
      <Updated />
      <Outlet />
    </main>
  );
}

function Who() {
  const me = useQuery(queries.me());
  const navigate = useNavigate();
  const shown = useTheme();
  const user = me.data?.name;
  useEffect(() => {
    if (user !== undefined) {
      forgetDraftOfOthers(user);
    }
  }, [user]);
  return (
    <>
      <span className="who" title="Who is signed in">
        {me.data?.name ?? "…"}
      </span>
      <span className="row">
        <Help />
        <button onClick={turnTheme}>{shown === "dark" ? "Light" : "Dark"}</button>
        <button
          onClick={() => {
            void signOut().then(() => navigate({ to: "/sign-in" }));
          }}
        >
          Sign out
        </button>
      </span>
    </>
  );
}

function useKeysOfEveryPage(): void {
  const navigate = useNavigate();
  useKeys(
    [
      {
        press: "/",
        does: "search on this page, or among all jobs",
        act: () => {
          const box = document.querySelector<HTMLElement>("main input[type=search]");
          if (box === null) {
            void navigate({ to: "/jobs" });
          } else {
            box.focus();
          }
        },
      },
      ...PLACES.map(({ to, name, letter }) => ({
        press: `g ${letter}`,
        does: `go to ${name}`,
        act: () => void navigate({ to }),
      })),
    ],
    "everywhere",
  );
}

/** The session has ended, on the server or in another tab: say so where one can sign in again. */
function useSignedOut(): void {
  const navigate = useNavigate();
  const { href } = useLocation();
  useEffect(() => {
    const leave = () => {
      void navigate({ to: "/sign-in", search: { ended: "yes", next: href } });
    };
    window.addEventListener("muster:signed-out", leave);
    const stopWatching = watchOtherTabs(() => {
      if (isSignedIn()) {
        // Perhaps as somebody else, who must not see what is kept here.
        location.reload();
      } else {
        leave();
      }
    });
    return () => {
      window.removeEventListener("muster:signed-out", leave);
      stopWatching();
    };
  }, [navigate, href]);
}
