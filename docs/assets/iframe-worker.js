/* Search from the disk: browsers start no worker on file://, so that the worker's script runs in a hidden frame here. */
"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.appendChild(frame);
      this.frame = frame;
      this.listen = event => {
        if (event.source !== frame.contentWindow) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      };
      window.addEventListener("message", this.listen);
      const inside = frame.contentDocument;
      inside.open();
      inside.write(
        "<script>postMessage = data => parent.postMessage(data, '*');" +
        "importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {" +
        "const script = document.createElement('script'); script.src = url; script.onload = done; script.onerror = failed;" +
        "document.body.appendChild(script); })), Promise.resolve());</" + "script><body></body>"
      );
      inside.close();
      this.ready = new Promise((done, failed) => {
        const script = inside.createElement("script");
        script.src = url;
        script.onload = done;
        script.onerror = failed;
        inside.body.appendChild(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      window.removeEventListener("message", this.listen);
      this.frame.remove();
    }
  };
}
