// @ts-check
// Where the page begins.
import { App } from './app.js';
import { connectControls } from './controls.js';
import { byId, makeElement } from './dom.js';
import { readModel } from './model.js';

/** Read the data, hide what is for pages without scripts, show the app. */
function start() {
    const model = readModel((id) => {
        const element = byId(id);
        return { text: element.textContent, bytes: Number(element.dataset.bytes) };
    });
    byId('static').hidden = true;
    byId('app').hidden = false;
    const app = new App(model, location.hash);
    connectControls(app);
    app.start();
    byId('static').remove();
    document.documentElement.dataset.ready = 'true';
}

/** Say why there is only what needs no script. @param {unknown} error */
function giveUp(error) {
    const reason = error instanceof Error ? error.message : String(error);
    byId('app').hidden = true;
    byId('static').hidden = false;
    byId('static').prepend(
        makeElement(
            'p',
            { role: 'alert' },
            `The data of this page cannot be read (${reason}): it was changed or cut on its way. `,
            'Below is what needs none of it; memtrack flamegraph makes the page anew.',
        ),
    );
    document.documentElement.dataset.ready = 'failed';
}

try {
    start();
} catch (error) {
    giveUp(error);
}
