"""What several charts share.

axes             axes and layouts
percentile_bars  bars from p10 to p90 of several groups
lanes            bars for the stints of one period
"""
