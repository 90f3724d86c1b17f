// Measures, inside OpenCode, how long each question of the bridge to its supervisor takes: from the
// writing of the line to the arrival of its answer. Beside it, how long OpenCode's event loop takes to
// come round at that moment anyway. Also gives the model a tool that does nothing.
import { appendFileSync } from "node:fs"
import net from "node:net"

const connect = net.createConnection
net.createConnection = (...given) => {
  const socket = connect(...given)
  const asked = new Map()
  const write = socket.write.bind(socket)
  socket.write = (line, ...rest) => {
    if (typeof line === "string" && line.startsWith('{"type":"gate"')) {
      const question = { at: performance.now(), loop: 0 }
      asked.set(JSON.parse(line).id, question)
      setImmediate(() => (question.loop = performance.now() - question.at))
    }
    return write(line, ...rest)
  }
  let input = ""
  socket.on("data", (chunk) => {
    const lines = (input + chunk).split("\n")
    input = lines.pop()
    for (const line of lines) {
      const { type, id } = JSON.parse(line)
      if (type !== "answer" || !asked.has(id)) continue
      const { at, loop } = asked.get(id)
      appendFileSync(process.env.PROBE_FILE, `${performance.now() - at} ${loop}\n`)
      asked.delete(id)
    }
  })
  return socket
}

export default async () => ({
  tool: {
    probe: {
      description: "Does nothing.",
      args: { n: { type: "integer" } },
      execute: async () => crypto.randomUUID() + " " + Math.random(),
    },
  },
})
