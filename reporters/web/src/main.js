// @ts-check
// Where the page begins.
import { App } from './app.js';
import { connectControls } from './controls.js';
import { byId } from './dom.js';
import { readModel } from './model.js';

/** Read the data, hide what is for pages without scripts, show the app. */
function start() {
    const model = readModel((id) => {
        const element = byId(id);
        return { text: element.textContent, bytes: Number(element.dataset.bytes) };
    });
    byId('static').remove();
    byId('app').hidden = false;
    const app = new App(model, location.hash);
    connectControls(app);
    app.start();
    document.documentElement.dataset.ready = 'true';
}

start();
