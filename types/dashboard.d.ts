// The chart library where the browser finds it.
declare module '*/uPlot.esm.js' {
  import uPlot from 'uplot'
  export default uPlot
}
